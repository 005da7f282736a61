/** The turns of a case: lanes side by side, time downwards. */
import { useMemo, useState } from "preact/hooks";
import { link } from "../address";
import type { OpenedCase, OpenedExchange } from "../data/opened";
import { milliseconds } from "../format";
import type { ShownHandOff } from "../model";
import { VirtualList } from "../parts/VirtualList";
import { Card, laneColour, Tracks } from "./Card";
import { layRails, type Rails, segmentsAt } from "./rails";

export function Turns({ opened, selected, moved }: { opened: OpenedCase; selected: number | undefined; moved: number | undefined }) {
  const rails = useMemo(() => layRails(opened), [opened]);
  const [unfolded, setUnfolded] = useState<ReadonlySet<number>>(new Set());
  const unfold = (number: number) => {
    const next = new Set(unfolded);
    if (!next.delete(number)) next.add(number);
    setUnfolded(next);
  };
  const lanes = opened.lanes.length || 1;
  return (
    <div class={`turns lanes-${Math.min(lanes, 5)}`} style={{ "--lanes": lanes }}>
      {lanes > 1 && <LaneNames opened={opened} />}
      <VirtualList
        items={opened.exchanges}
        keyOf={(exchange) => String(exchange.number)}
        estimate={92}
        label="Turns"
        selected={moved}
        render={(exchange) => (
          <Turn {...{ opened, exchange, rails, unfold }} unfolded={unfolded.has(exchange.number)} selected={exchange.number === selected} />
        )}
      />
    </div>
  );
}

function LaneNames({ opened }: { opened: OpenedCase }) {
  return (
    <div class="turn names-of-lanes" aria-hidden="true">
      <span />
      {opened.lanes.map((name, lane) => (
        <strong key={name} class="wrap">
          <span style={{ color: laneColour(lane) }}>■</span> {name}
        </strong>
      ))}
    </div>
  );
}

interface Shape {
  readonly opened: OpenedCase;
  readonly exchange: OpenedExchange;
  readonly rails: Rails;
  readonly unfolded: boolean;
  readonly unfold: (number: number) => void;
  readonly selected: boolean;
}

function Turn({ opened, exchange, rails, unfolded, unfold, selected }: Shape) {
  const { shown } = exchange;
  const handed = opened.handOffs.filter(({ number, by }) => number === shown.number && opened.lanes.indexOf(by) !== shown.lane);
  const lanes = opened.lanes.length ? opened.lanes : [""];
  return (
    <div class={`turn ${selected ? "selected" : ""}`} data-number={shown.number}>
      <Time opened={opened} exchange={exchange} />
      {handed.map((handOff) => (
        <HandedOver key={handOff.call_id} opened={opened} handOff={handOff} lane={shown.lane} />
      ))}
      {lanes.map((name, lane) => (
        <div
          key={name}
          class={`lane ${lane === shown.lane ? "own" : ""} ${handed.length && lane === shown.lane ? "reached" : ""}`}
          style={{ color: laneColour(lane), gridColumn: lane + 2 }}
        >
          {lane === shown.lane ? (
            <Card {...{ opened, exchange, rails, unfolded, unfold }} />
          ) : (
            <Tracks rails={rails} lane={lane} number={shown.number} segments={segmentsAt(rails, lane, shown.number, [], -1)} />
          )}
        </div>
      ))}
    </div>
  );
}

function Time({ opened, exchange: { shown } }: { opened: OpenedCase; exchange: OpenedExchange }) {
  const { arrived, last_byte: ended } = shown.edge;
  return (
    <a
      class="when small"
      href={link.case(opened.id, shown.number)}
      title={ended !== null && arrived !== null ? `answered after ${milliseconds(ended - arrived)}` : ""}
    >
      <b>{shown.number}</b>
      {arrived !== null && <span class="dim">+{milliseconds(arrived)}</span>}
    </a>
  );
}

/** An arrow from the lane that called to the lane that its call led to. */
function HandedOver({ opened, handOff, lane }: { opened: OpenedCase; handOff: ShownHandOff; lane: number }) {
  const from = opened.lanes.indexOf(handOff.by);
  if (from < 0) return null;
  const back = from > lane;
  return (
    <div
      class={`handed ${back ? "back" : ""}`}
      style={{
        gridColumn: back ? `${lane + 3} / ${from + 3}` : `${from + 2} / ${lane + 2}`,
        color: laneColour(from),
        "--span": Math.abs(from - lane),
      }}
    >
      <span class="small mono">{handOff.name}</span>
      <span class="unseen">
        {" "}
        hands over from {handOff.by} to {handOff.to}
      </span>
    </div>
  );
}
