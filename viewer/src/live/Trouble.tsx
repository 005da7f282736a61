/** Says why nothing is shown, and asks for the token where one is needed. */
import { useState } from "preact/hooks";
import { LiveSource, TokenNeeded } from "../data/live";
import { useSource } from "../data/use";

export function Trouble({ problem }: { problem: Error }) {
  const source = useSource();
  const asks = problem instanceof TokenNeeded && source instanceof LiveSource;
  return (
    <main class="screen">
      <h1>{asks ? "This server requires its control token" : "This cannot be shown"}</h1>
      <p class="empty wrap">{problem.message}</p>
      {asks && <TokenForm use={(token) => source.useToken(token)} />}
    </main>
  );
}

export function TokenForm({ use }: { use: (token: string) => void }) {
  const [token, setToken] = useState("");
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        use(token);
      }}
    >
      <label>
        Control token <input type="password" autocomplete="off" value={token} onInput={(event) => setToken(event.currentTarget.value)} />
      </label>
      <button class="primary" disabled={!token}>
        Use it
      </button>
    </form>
  );
}
