import { relative } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { Mock, type MockOptions } from "./mock.js";

export { Mock, MockFailure } from "./mock.js";
export type * from "./types.js";

/** The mock for the tests of this file or `describe`: a World for each, whose report fails it. */
export function useMock(allowed: MockOptions = {}): Mock {
  const mock = new Mock(allowed);
  beforeEach(({ task }) => mock.begin(titleOf(task)));
  afterEach(({ task }) => mock.end(titleOf(task)));
  return mock;
}

interface Named {
  name: string;
  suite?: Named | undefined;
}

/** The name of a test in the whole run: `src/weather.test.ts > asks`. */
function titleOf(task: Named & { file: { filepath: string } }): string {
  const names = [];
  for (let each: Named | undefined = task; each; each = each.suite) names.unshift(each.name);
  return [relative(process.cwd(), task.file.filepath), ...names].join(" > ");
}
