// Builds one HTML file, with its script and style inside and a policy that lets nothing else run.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

const PAGE = new URL("../harness/viewer/page.html", import.meta.url);
const LIMIT = 250 * 1024;

/** Lists the hashes of the elements of a page that have a content of their own. */
function hashes(page, element) {
  const contents = [...page.matchAll(new RegExp(`<${element}\\b[^>]*>([^]*?)</${element}>`, "g"))];
  return contents.map(([, text]) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`).join(" ");
}

/** Says in the page what may run in it, and writes it where Python finds it. */
function page() {
  return {
    name: "page",
    closeBundle() {
      const built = readFileSync(new URL("dist/index.html", import.meta.url), "utf8");
      const policy = [
        "default-src 'none'",
        `script-src ${hashes(built, "script")}`,
        `style-src ${hashes(built, "style")}`,
        "img-src data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
      ].join("; ");
      const whole = built.replace("%POLICY%", policy);
      const size = Buffer.byteLength(whole);
      if (size > LIMIT) throw new Error(`the page has ${size} bytes, more than ${LIMIT}`);
      writeFileSync(PAGE, whole);
      console.log(`harness/viewer/page.html: ${size} bytes`);
    },
  };
}

export default defineConfig({
  plugins: [viteSingleFile(), page()],
  build: { target: "es2022", modulePreload: false, reportCompressedSize: false },
  logLevel: "warn",
});
