/** The tokens of an answer as one line: read, the share of these from the prompt cache, and said; then the cost, if known. */
import { isObject } from "../parts/json_rows";

export function describeTokens(usage: unknown, cost: number | null = null): string {
  if (!isObject(usage)) return "";
  const [read, said] = [usage.input_tokens ?? usage.prompt_tokens, usage.output_tokens ?? usage.completion_tokens];
  if (typeof read !== "number" || typeof said !== "number") return "";
  const details = usage.input_tokens_details ?? usage.prompt_token_details;
  const cached = isObject(details) && typeof details.cached_tokens === "number" ? details.cached_tokens : 0;
  return `${read} tokens in${cached > 0 ? `, ${Math.round((100 * cached) / read)} % cached` : ""}, ${said} out${describeCost(cost)}`;
}

function describeCost(cost: number | null): string {
  return cost === null ? "" : ` · $${cost >= 1 ? cost.toFixed(2) : cost.toPrecision(2)}`;
}
