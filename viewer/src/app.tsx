/** The page: which screen the address asks for. */
import { type Address, useAddress } from "./address";
import { CaseScreen } from "./case/CaseScreen";
import { useCase, useRun } from "./data/use";
import { ExamineScreen } from "./examine/ExamineScreen";
import { RuleScreen } from "./examine/RuleScreen";
import { ExchangeScreen } from "./exchange/ExchangeScreen";
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
  if (kind === "rule" && id !== undefined) return <RuleScreen run={run} id={id} />;
  if (kind === "examine") return <ExamineScreen run={run} />;
  return <RunScreen run={run} address={address} />;
}

function Opened({ run, id, address }: { run: Run; id: string; address: Address }) {
  const { value: opened, problem, loading } = useCase(id);
  const number = Number(address.path[2]);
  if (problem) return <Trouble problem={problem} />;
  if (!opened) return <p class="screen empty">{loading ? "Opening …" : `There is no “${id}” here.`}</p>;
  if (number) return <ExchangeScreen run={run} opened={opened} number={number} tab={address.path[3] ?? "transcript"} />;
  return <CaseScreen run={run} opened={opened} address={address} />;
}
