/** A request beside another: the one before in its lane, unless the reader chooses. */
import { link, setQuery, useAddress } from "../address";
import type { OpenedCase, OpenedExchange } from "../data/opened";
import { JsonDiff } from "../parts/diff";
import { alignInputs } from "./same_input";
import type { Shown } from "./shown";

export function CompareTab({ opened, exchange }: Shown) {
  const { query } = useAddress();
  const chosen = opened.exchange(Number(query.get("with")));
  const other = chosen ?? opened.before(exchange.number) ?? opened.exchanges.find((known) => known !== exchange);
  if (!other) return <p class="dim">This is the only request.</p>;
  const [was, is] = alignInputs(other.request, exchange.request);
  const text = was !== other.request ? other.number : is !== exchange.request ? exchange.number : 0;
  return (
    <>
      <p class="acts">
        <label>
          Request {exchange.number}, compared with <Choice opened={opened} exchange={exchange} other={other} />
        </label>
        <a href={link.case(opened.id, other.number)}>open request {other.number}</a>
      </p>
      <div class="columns">
        <section>
          <h2>Sent</h2>
          {text > 0 && <p class="dim">Request {text} sends its input as a string, which is compared as a message.</p>}
          <JsonDiff was={was} is={is} />
        </section>
        <section>
          <h2>Answered</h2>
          <JsonDiff was={other.answer} is={exchange.answer} />
        </section>
      </div>
    </>
  );
}

function Choice({ opened, exchange, other }: { opened: OpenedCase; exchange: OpenedExchange; other: OpenedExchange }) {
  return (
    <select value={String(other.number)} onChange={(event) => setQuery({ with: event.currentTarget.value })} aria-label="The request to compare with">
      {opened.exchanges
        .filter((known) => known !== exchange)
        .map(({ number, shown }) => (
          <option key={number} value={String(number)}>
            request {number} · {shown.gist || shown.path}
          </option>
        ))}
    </select>
  );
}
