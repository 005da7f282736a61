/** Texts for readers: paragraphs, `code`, and addresses as links. */
import "./prose.css";
import { Linked } from "./Text";

const CODE = /(`[^`\n]+`)/;

/** Shows a text with its code and its links. */
export function Explained({ text }: { text: string }) {
  return (
    <>
      {text.split(CODE).map((part, index) =>
        index % 2 ? <code key={index}>{part.slice(1, -1)}</code> : <Linked key={index} text={part} />,
      )}
    </>
  );
}

export function Paragraphs({ text }: { text: string }) {
  const paragraphs = text.split(/\n{2,}/).filter((paragraph) => paragraph.trim());
  return (
    <>
      {paragraphs.map((paragraph, index) => (
        <p key={index} class="prose">
          <Explained text={paragraph} />
        </p>
      ))}
    </>
  );
}
