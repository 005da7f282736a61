"use strict";
/** What a script says and a journal holds, as the control plane takes and gives it. */
Object.defineProperty(exports, "__esModule", { value: true });
