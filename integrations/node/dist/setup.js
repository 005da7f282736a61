"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
/**
 * For `setupFiles`: it runs before the application is imported, so that clients made at import reach the World of the running
 * test, too.
 */
const environment_js_1 = require("./environment.js");
(0, environment_js_1.setEnvironment)();
