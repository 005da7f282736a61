/** Does something in a World; what went wrong is shown in the dock. Whether it was done is returned. */
export type Act = (path: string, body: object, method?: "POST" | "DELETE") => Promise<boolean>;
