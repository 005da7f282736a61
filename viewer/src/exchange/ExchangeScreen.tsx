/** One request and its answer: what was said, what was sent, what came, and why. */
import "./exchange.css";
import { go, link } from "../address";
import type { OpenedCase, OpenedExchange } from "../data/opened";
import { useKeys } from "../keys";
import type { Run } from "../model";
import { Sign } from "../parts/Sign";
import { AnswerTab, SentTab } from "./Bodies";
import { CompareTab } from "./CompareTab";
import { Copies } from "./Copies";
import { HeadersTab } from "./HeadersTab";
import { Problems } from "./Problems";
import { StreamTab } from "./StreamTab";
import type { Shown } from "./shown";
import { TranscriptTab } from "./TranscriptTab";
import { readTab, TABS, type Tab, TITLES } from "./tabs";
import { since } from "./times";
import { WhyTab } from "./WhyTab";

export function ExchangeScreen({ run, opened, number, tab }: { run: Run; opened: OpenedCase; number: number; tab: string }) {
  const exchange = opened.exchange(number);
  if (!exchange) return <Missing opened={opened} number={number} />;
  return <Found run={run} opened={opened} exchange={exchange} tab={readTab(tab)} key={`${opened.id} ${number}`} />;
}

function Missing({ opened, number }: { opened: OpenedCase; number: number }) {
  return (
    <main class="scrolls screen" tabIndex={-1}>
      <h1>No request {number}</h1>
      <p>
        {opened.row.name} has {opened.exchanges.length} requests. <a href={link.case(opened.id)}>See them all</a>
      </p>
    </main>
  );
}

function Found({ run, opened, exchange, tab }: Shown & { tab: Tab }) {
  const [earlier, later] = neighbours(opened, exchange.number);
  const see = (number: number | undefined) => number && go(link.case(opened.id, number, tab));
  const back = () => go(link.case(opened.id));
  useKeys({
    h: ["the previous request", () => see(earlier)],
    l: ["the next request", () => see(later)],
    "[": ["the previous request", () => see(earlier)],
    "]": ["the next request", () => see(later)],
    Escape: ["back to the test", back],
    ...Object.fromEntries(TABS.map((name, index) => [String(index + 1), [TITLES[name], () => go(link.case(opened.id, exchange.number, name))]])),
  });
  const shown = { run, opened, exchange };
  return (
    <main class="scrolls screen" tabIndex={-1}>
      <div class="exchange">
        <Head opened={opened} exchange={exchange} earlier={earlier} later={later} tab={tab} />
        <Problems {...shown} />
        <div class="exchange-bar">
          <Tabs opened={opened} exchange={exchange} tab={tab} />
          <Copies exchange={exchange} />
        </div>
        <Body {...shown} tab={tab} />
      </div>
    </main>
  );
}

function neighbours(opened: OpenedCase, number: number): [number | undefined, number | undefined] {
  const place = opened.exchanges.findIndex((exchange) => exchange.number === number);
  return [opened.exchanges[place - 1]?.number, opened.exchanges[place + 1]?.number];
}

interface HeadProps {
  readonly opened: OpenedCase;
  readonly exchange: OpenedExchange;
  readonly earlier: number | undefined;
  readonly later: number | undefined;
  readonly tab: Tab;
}

function Head({ opened, exchange, earlier, later, tab }: HeadProps) {
  const { shown } = exchange;
  const wrong = shown.status >= 400;
  return (
    <header class="exchange-head">
      <h1>
        Request {shown.number} <span class="dim">of {opened.exchanges.at(-1)?.number}</span>
      </h1>
      <p class="exchange-facts">
        <span class="mono">
          {shown.method} {shown.path}
        </span>
        <span class={wrong && !shown.asked ? "wrong" : ""}>
          <Sign of={wrong ? (shown.asked ? "neutral" : "wrong") : "right"} label="" /> {shown.status}
        </span>
        <Lane opened={opened} lane={shown.lane} />
        {since(shown.edge.arrived) && <span class="dim">{since(shown.edge.arrived)}</span>}
      </p>
      <nav class="exchange-steps" aria-label="Requests">
        <Step href={earlier && link.case(opened.id, earlier, tab)} label="previous" sign="‹" />
        <Step href={later && link.case(opened.id, later, tab)} label="next" sign="›" />
      </nav>
    </header>
  );
}

function Step({ href, label, sign }: { href: string | undefined | 0; label: string; sign: string }) {
  const text = sign === "‹" ? `‹ ${label}` : `${label} ›`;
  return href ? <a href={href}>{text}</a> : <span class="dim">{text}</span>;
}

export function Lane({ opened, lane }: { opened: OpenedCase; lane: number }) {
  const name = opened.lanes[lane];
  if (!name || opened.lanes.length < 2) return null;
  return (
    <span class="exchange-lane">
      <span aria-hidden="true" style={{ color: `var(--lane-${lane % 8})` }}>
        ■
      </span>{" "}
      {name}
    </span>
  );
}

function Tabs({ opened, exchange, tab }: { opened: OpenedCase; exchange: OpenedExchange; tab: Tab }) {
  const counts: { readonly [name: string]: number } = {
    stream: exchange.shown.events?.length ?? 0,
    why: exchange.shown.tried.length,
  };
  return (
    <nav class="exchange-tabs" aria-label="Views of the request">
      {TABS.map((name) => (
        <a key={name} href={link.case(opened.id, exchange.number, name)} aria-current={name === tab ? "page" : undefined}>
          {TITLES[name]}
          {counts[name] ? <span class="dim"> {counts[name]}</span> : null}
        </a>
      ))}
    </nav>
  );
}

function Body({ tab, ...shown }: Shown & { tab: Tab }) {
  switch (tab) {
    case "transcript":
      return <TranscriptTab {...shown} />;
    case "sent":
      return <SentTab {...shown} />;
    case "answer":
      return <AnswerTab {...shown} />;
    case "stream":
      return <StreamTab {...shown} />;
    case "why":
      return <WhyTab {...shown} />;
    case "headers":
      return <HeadersTab {...shown} />;
    case "compare":
      return <CompareTab {...shown} />;
  }
}
