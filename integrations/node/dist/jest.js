"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.MockFailure = exports.Mock = void 0;
exports.useMock = useMock;
const node_path_1 = require("node:path");
const mock_js_1 = require("./mock.js");
var mock_js_2 = require("./mock.js");
Object.defineProperty(exports, "Mock", { enumerable: true, get: function () { return mock_js_2.Mock; } });
Object.defineProperty(exports, "MockFailure", { enumerable: true, get: function () { return mock_js_2.MockFailure; } });
/** The mock for the tests of this file or `describe`: a World for each, whose report fails it. */
function useMock(allowed = {}) {
    const mock = new mock_js_1.Mock(allowed);
    beforeEach(() => mock.begin(title()));
    afterEach(() => mock.end(title()));
    return mock;
}
/** The name of the running test in the whole run: `src/weather.test.ts asks`. */
function title() {
    const { testPath = "", currentTestName = "" } = expect.getState();
    return `${(0, node_path_1.relative)(process.cwd(), testPath)} ${currentTestName}`;
}
