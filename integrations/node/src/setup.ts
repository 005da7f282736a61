/**
 * For `setupFiles`: it runs before the application is imported, so that clients made at import reach the World of the running
 * test, too.
 */
import { setEnvironment } from "./environment.js";

setEnvironment();
