/** The colours: as the system has them, or as the reader chose. */
import { useState } from "preact/hooks";

const KEY = "harness-theme";
const THEMES = ["auto", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];

function kept(): Theme {
  try {
    return THEMES.find((theme) => theme === localStorage.getItem(KEY)) ?? "auto";
  } catch {
    return "auto";
  }
}

export function applyTheme(theme: Theme = kept()): void {
  document.documentElement.dataset["theme"] = theme;
}

export function ThemeButton() {
  const [theme, setTheme] = useState(kept);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "auto";
  const choose = () => {
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // Then it holds until the page is left.
    }
    applyTheme(next);
    setTheme(next);
  };
  return (
    <button class="quiet" id="theme" onClick={choose} title={`Theme: ${theme}. Change to ${next}.`} aria-label={`Theme: ${theme}`}>
      {{ auto: "◐", light: "☀", dark: "☾" }[theme]}
    </button>
  );
}
