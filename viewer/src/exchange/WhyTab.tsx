/** Why this answer: the turn or the route that answered, and why no other route did. */

import type { AnsweredBy, Tried, WaitingTurn } from "../model";
import { Sign } from "../parts/Sign";
import type { Shown } from "./shown";

const HARNESS_STATUS = 418;

export function WhyTab({ opened, exchange }: Shown) {
  const { answered_by: answeredBy, tried, status, rule } = exchange.shown;
  return (
    <div class="why">
      <h2>What answered</h2>
      {answeredBy ? <Answered by={answeredBy} /> : <p>{nobody(status, rule)}</p>}
      {tried.length > 0 && <Routes tried={tried} />}
      {opened.waiting.length > 0 && <Waiting turns={opened.waiting} />}
    </div>
  );
}

function nobody(status: number, rule: string): string {
  if (rule) return `The rule ${rule} refused the request before a turn was taken.`;
  if (status === HARNESS_STATUS) return "The script had no turn left for this request, and no route matched it.";
  if (status >= 400) return "The request was refused before a turn was taken.";
  return "No turn was needed: stored objects or the request alone determine this answer.";
}

export function place(file: string, line: number): string {
  return line ? `${file}:${line}` : file;
}

/** The route of the turns that `mock.script` added. */
const SCRIPT = "script";

function Answered({ by }: { by: AnsweredBy }) {
  const route = by.route === SCRIPT ? "" : by.route;
  return (
    <p>
      <Sign of="right" label="answered" /> {by.turn ? `Turn ${by.turn}` : "A turn"} of {route ? "the route " : "the script"}
      {route && <b class="mono">{route}</b>}
      {by.file && <span class="mono dim"> {place(by.file, by.line)}</span>}
    </p>
  );
}

function Routes({ tried }: { tried: readonly Tried[] }) {
  return (
    <>
      <h2>Routes tried, in order</h2>
      <table class="facts">
        <thead>
          <tr>
            <th scope="col">route</th>
            <th scope="col">the first condition that failed</th>
          </tr>
        </thead>
        <tbody>
          {tried.map(({ route, failed }, index) => (
            <tr key={index}>
              <td class="mono">{route || "every request"}</td>
              <td class={failed ? "" : "right"}>
                <Sign of={failed ? "wrong" : "right"} label={failed ? "did not match" : "matched"} /> {failed || "all conditions hold: it answered"}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function Waiting({ turns }: { turns: readonly WaitingTurn[] }) {
  return (
    <>
      <h2>Unused turns</h2>
      <ul>
        {turns.map((turn, index) => (
          <li key={index}>
            {turn.text} {turn.route && <span class="dim">of the route {turn.route}</span>}{" "}
            {turn.file && <span class="mono dim">{place(turn.file, turn.line)}</span>}
          </li>
        ))}
      </ul>
    </>
  );
}
