/** The requests of a case as a table. */
import { link } from "../address";
import type { OpenedCase } from "../data/opened";
import { milliseconds } from "../format";
import { VirtualList } from "../parts/VirtualList";
import { laneColour } from "./Card";

export function Requests({ opened, selected, moved }: { opened: OpenedCase; selected: number | undefined; moved: number | undefined }) {
  return (
    <div class="requests">
      <VirtualList
        items={opened.exchanges}
        keyOf={({ number }) => String(number)}
        estimate={30}
        label="Requests"
        selected={moved}
        render={({ number, shown }) => {
          const { arrived, last_byte: ended } = shown.edge;
          const wrong = shown.status >= 400 && !shown.asked;
          return (
            <a class={`request-row ${number === selected ? "selected" : ""}`} href={link.case(opened.id, number)}>
              <span class="dim">{number}</span>
              <span class="dim">{arrived === null ? "" : `+${milliseconds(arrived)}`}</span>
              <span class="dim">{arrived === null || ended === null ? "" : milliseconds(ended - arrived)}</span>
              <span class={wrong ? "wrong" : shown.asked ? "dim" : "right"}>
                {shown.status}
                {wrong && " ✗"}
              </span>
              <span class="wrap">
                {opened.lanes.length > 1 && (
                  <span style={{ color: laneColour(shown.lane) }} title={opened.lanes[shown.lane]}>
                    ■{" "}
                  </span>
                )}
                <span class="mono">
                  {shown.method} {shown.path}
                </span>
              </span>
              <span class="wrap">{shown.gist}</span>
              <span class={`wrap ${wrong ? "wrong" : "dim"}`}>{shown.error || shown.said}</span>
            </a>
          );
        }}
      />
    </div>
  );
}
