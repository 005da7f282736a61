import { relative } from "node:path";
import { Mock, type MockOptions } from "./mock.js";

export { Mock, MockFailure } from "./mock.js";
export type * from "./types.js";

declare const beforeEach: (hook: () => Promise<void>) => void;
declare const afterEach: (hook: () => Promise<void>) => void;
declare const expect: { getState(): { testPath?: string; currentTestName?: string } };

/** The mock for the tests of this file or `describe`: a World for each, whose report fails it. */
export function useMock(allowed: MockOptions = {}): Mock {
  const mock = new Mock(allowed);
  beforeEach(() => mock.begin(title()));
  afterEach(() => mock.end(title()));
  return mock;
}

/** The name of the running test in the whole run: `src/weather.test.ts asks`. */
function title(): string {
  const { testPath = "", currentTestName = "" } = expect.getState();
  return `${relative(process.cwd(), testPath)} ${currentTestName}`;
}
