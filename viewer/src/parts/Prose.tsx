/** Texts for readers: paragraphs, `code`, and addresses as links. */
import "./prose.css";
import { Linked } from "./Text";

const CODE = /(`[^`\n]+`)/;
const REQUEST = /\b(?:exchange|request) (\d+)\b/;

interface ExplainedProps {
  readonly text: string;
  /** The address of a request of the same test by its number; empty when there is none. */
  readonly linkTo?: (number: number) => string;
}

/** Shows a text with its code, its links, and with links to the requests that it names. */
export function Explained({ text, linkTo = () => "" }: ExplainedProps) {
  return (
    <>
      {text.split(CODE).map((part, index) =>
        index % 2 ? <code key={index}>{part.slice(1, -1)}</code> : <Plain key={index} text={part} linkTo={linkTo} />,
      )}
    </>
  );
}

function Plain({ text, linkTo }: Required<ExplainedProps>) {
  return (
    <>
      {text.split(REQUEST).map((part, index) => {
        if (index % 2 === 0) return <Linked key={index} text={part} />;
        const address = linkTo(Number(part));
        const name = `request ${part}`;
        return address ? (
          <a key={index} href={address}>
            {name}
          </a>
        ) : (
          name
        );
      })}
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
