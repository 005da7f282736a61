/** The key of this worker; its World begins anew with each test. */
export declare const API_KEY: string;
/** Set the variables that clients read; an error without a server. */
export declare function setEnvironment(): void;
