// Evaluates JSONata: one line of JSON in, one line out. In: [[code, {name: value}], ...]. Out: [["ok", value] |
// ["undefined"] | ["error", code], ...]. A number that JSON cannot say is an error, as it is on the way out of a state.
"use strict";
const readline = require("readline");
const jsonata = require("jsonata");

function isJson(value) {
  if (typeof value === "number") return Number.isFinite(value);
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (Array.isArray(value)) return value.every(isJson);
  return typeof value === "object" && Object.keys(value).every((key) => isJson(value[key]));
}

async function run([code, bindings]) {
  try {
    const value = await jsonata(code).evaluate(undefined, bindings);
    if (value === undefined) return ["undefined"];
    return isJson(value) ? ["ok", value] : ["error", "not JSON"];
  } catch (error) {
    return ["error", String(error.code || error), String(error.message || "")];
  }
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    const results = [];
    for (const one of JSON.parse(line)) results.push(await run(one));
    process.stdout.write(JSON.stringify(results) + "\n");
  }
})();
