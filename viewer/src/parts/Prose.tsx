/** A text of several paragraphs. */
import "./prose.css";
import { Linked } from "./Text";

export function Paragraphs({ text }: { text: string }) {
  const paragraphs = text.split(/\n{2,}/).filter((paragraph) => paragraph.trim());
  return (
    <>
      {paragraphs.map((paragraph, index) => (
        <p key={index} class="prose">
          <Linked text={paragraph} />
        </p>
      ))}
    </>
  );
}
