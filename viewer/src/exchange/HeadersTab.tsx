/** What goes around the bodies: headers of both, and what was seen at the edge of the server. */

import type { Edge } from "../model";
import { sizeOf } from "../parts/base64";
import type { Shown } from "./shown";
import { duration, since } from "./times";

type Headers = readonly (readonly [string, string])[];

export function HeadersTab({ exchange }: Shown) {
  const { request_headers: sent, answer_headers: came, method, path, status, edge } = exchange.shown;
  return (
    <div class="columns">
      <section>
        <h2>Request</h2>
        <p class="mono">{`${method} ${path}`}</p>
        <HeaderTable headers={sent} label="headers of the request" />
      </section>
      <section>
        <h2>Answer</h2>
        <p class="mono">{status}</p>
        <HeaderTable headers={came} label="headers of the answer" />
      </section>
      <section>
        <h2>Connection</h2>
        <Timing edge={edge} />
      </section>
    </div>
  );
}

function HeaderTable({ headers, label }: { headers: Headers; label: string }) {
  if (headers.length === 0) return <p class="dim">No headers were kept.</p>;
  return (
    <table class="facts mono" aria-label={label}>
      <tbody>
        {headers.map(([name, value], index) => (
          <tr key={index}>
            <th scope="row">{name}</th>
            <td>{value}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Timing({ edge }: { edge: Edge }) {
  const { arrived, first_byte: first, last_byte: last, left, bytes, events, connection, cut } = edge;
  const after = (moment: number | null) =>
    moment === null || arrived === null ? since(moment) : `${since(moment)}, ${duration(moment - arrived)} after it arrived`;
  const facts: readonly (readonly [string, string])[] = [
    ["arrived", since(arrived)],
    ["first byte", after(first)],
    ["last byte", after(last)],
    ["client disconnected", after(left)],
    ["sent", [events === null ? "" : `${events} events`, bytes === null ? "" : sizeOf(bytes)].filter(Boolean).join(", ")],
    ["cut", cut],
    ["connection", connection === null ? "" : String(connection)],
  ];
  const known = facts.filter(([, value]) => value);
  if (known.length === 0) return <p class="dim">Nothing was measured: this exchange did not use a connection.</p>;
  return (
    <table class="facts" aria-label="times">
      <tbody>
        {known.map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{value}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
