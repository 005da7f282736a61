/** The tokens of an answer as one line: read, the share of these from the prompt cache, and said. */
import { isObject } from "../parts/json_rows";

export function describeTokens(usage: unknown): string {
  if (!isObject(usage)) return "";
  const [read, said] = [usage.input_tokens ?? usage.prompt_tokens, usage.output_tokens ?? usage.completion_tokens];
  if (typeof read !== "number" || typeof said !== "number") return "";
  const details = usage.input_tokens_details ?? usage.prompt_token_details;
  const cached = isObject(details) && typeof details.cached_tokens === "number" ? details.cached_tokens : 0;
  return `${read} tokens in${cached > 0 ? `, ${Math.round((100 * cached) / read)} % cached` : ""}, ${said} out`;
}
