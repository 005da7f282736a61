import { render } from "preact";
import { App } from "./app";
import { FileSource } from "./data/file";
import { LiveSource } from "./data/live";
import { SourceContext } from "./data/use";
import { listenToKeys } from "./keys";
import { applyTheme } from "./theme";
import "./styles/base.css";
import "./styles/frame.css";

applyTheme();
listenToKeys();
const source = document.getElementById("run") ? new FileSource() : new LiveSource();
const root = document.getElementById("app");
if (root)
  render(
    <SourceContext.Provider value={source}>
      <App />
    </SourceContext.Provider>,
    root,
  );
