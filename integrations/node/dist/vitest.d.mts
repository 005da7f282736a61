import { Mock, type MockOptions } from "./mock.js";
export { Mock, MockFailure } from "./mock.js";
export type * from "./types.js";
/** The mock for the tests of this file or `describe`: a World for each, whose report fails it. */
export declare function useMock(allowed?: MockOptions): Mock;
