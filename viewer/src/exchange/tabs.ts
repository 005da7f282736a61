/** The tabs of an exchange, in the order of their keys 1 to 7. */
export const TABS = ["transcript", "sent", "answer", "stream", "why", "headers", "compare"] as const;

export type Tab = (typeof TABS)[number];

export const TITLES: { readonly [tab in Tab]: string } = {
  transcript: "Transcript",
  sent: "Sent",
  answer: "Answer",
  stream: "Stream",
  why: "Why",
  headers: "Headers",
  compare: "Compare",
};

export const readTab = (name: string): Tab => TABS.find((tab) => tab === name) ?? "transcript";
