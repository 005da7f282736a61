/** The page: which screen the address asks for. */
import { type Address, link, useAddress } from "./address";
import { CaseScreen } from "./case/CaseScreen";
import { useCase, useRun } from "./data/use";
import { ExamineScreen } from "./examine/ExamineScreen";
import { RuleScreen } from "./examine/RuleScreen";
import { ExchangeScreen } from "./exchange/ExchangeScreen";
import { title } from "./format";
import { type Crumb, Frame } from "./frame";
import { Dock } from "./live/Dock";
import { Trouble } from "./live/Trouble";
import type { Run } from "./model";
import { RunScreen } from "./run/RunScreen";

export function App() {
  const address = useAddress();
  const { value: run, problem } = useRun();
  if (problem) return <Trouble problem={problem} />;
  if (!run) return <p class="screen dim">Opening …</p>;
  return <Screen run={run} address={address} />;
}

function Screen({ run, address }: { run: Run; address: Address }) {
  const [kind, id] = address.path;
  if (kind === "case" && id !== undefined) return <Opened run={run} id={id} address={address} />;
  if (kind === "rule" && id !== undefined)
    return (
      <Frame run={run} crumbs={[{ text: id, href: link.rule(id) }]}>
        <RuleScreen run={run} id={id} />
      </Frame>
    );
  if (kind === undefined && run.source === "examine")
    return (
      <Frame run={run}>
        <ExamineScreen run={run} />
      </Frame>
    );
  if (kind === "examine")
    return (
      <Frame run={run} crumbs={[{ text: "Examine", href: link.tab("examine") }]}>
        <ExamineScreen run={run} />
      </Frame>
    );
  return <RunScreen run={run} address={address} />;
}

function Opened({ run, id, address }: { run: Run; id: string; address: Address }) {
  const { value: opened, problem, loading } = useCase(id);
  const number = Number(address.path[2]);
  const crumbs: Crumb[] = [{ text: opened ? title(opened.row) : id, href: link.case(id) }];
  if (number) crumbs.push({ text: `request ${number}`, href: link.case(id, number) });
  return (
    <Frame run={run} crumbs={crumbs} dock={opened?.row.outcome === "open" && <Dock world={id} />}>
      {problem ? (
        <Trouble problem={problem} />
      ) : !opened ? (
        <p class="screen empty">
          {loading ? (
            "Opening …"
          ) : (
            <>
              There is no “{id}” here. <a href={link.run()}>Show everything.</a>
            </>
          )}
        </p>
      ) : number ? (
        <ExchangeScreen run={run} opened={opened} number={number} tab={address.path[3] ?? "transcript"} />
      ) : (
        <CaseScreen run={run} opened={opened} address={address} />
      )}
    </Frame>
  );
}
