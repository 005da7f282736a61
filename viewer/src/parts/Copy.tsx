/** Buttons that hand a text over: to the clipboard, to a file. */
import { useEffect, useState } from "preact/hooks";

const SHOWN = 1600;

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyFromField(text);
  }
}

/** A page that was opened from a disk may have no clipboard. */
function copyFromField(text: string): boolean {
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  return copied;
}

export function Copy({ text, label }: { text: () => string | Promise<string>; label: string }) {
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (!said) return;
    const timer = setTimeout(() => setSaid(""), SHOWN);
    return () => clearTimeout(timer);
  }, [said]);
  const act = async () => setSaid((await copy(await text())) ? "copied" : "could not be copied");
  return (
    <button class="act" onClick={act}>
      <span aria-live="polite">{said || label}</span>
    </button>
  );
}

export function Download({ name, text, label, type = "text/plain" }: { name: string; text: () => string; label: string; type?: string }) {
  const act = () => {
    const address = URL.createObjectURL(new Blob([text()], { type }));
    const anchor = document.createElement("a");
    anchor.href = address;
    anchor.download = name.replace(/[^\w.-]+/g, "_").slice(-120);
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  };
  return (
    <button class="act" onClick={act}>
      {label}
    </button>
  );
}
