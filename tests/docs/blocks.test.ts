import { expect, test } from "bun:test";
import { blocksOf, outputFault } from "./blocks.ts";

test("blocks are found with their output", () => {
  const page = [
    "a",
    "```sh",
    "echo 1",
    "```",
    "",
    "```text",
    "1",
    "```",
    "```sql",
    "SELECT 2",
    "```",
    "words",
    "```text",
    "x",
    "```",
  ];
  expect(blocksOf(page.join("\n"))).toEqual([
    { language: "sh", line: 3, code: "echo 1", output: "1" },
    { language: "sql", line: 10, code: "SELECT 2", output: undefined },
    { language: "text", line: 14, code: "x", output: undefined },
  ]);
});

test("shown output matches to the letter, but for ellipses", () => {
  expect(outputFault("a b\nc", "a b  \nc\n")).toBeUndefined();
  expect(outputFault("a … c", "a (1 ms) c")).toBeUndefined();
  expect(outputFault("a\n…\nz", "a\nb\nc\nz")).toBeUndefined();
  expect(outputFault("a b", "a c")).toContain("it really is\na c");
  expect(outputFault("a.b", "axb")).toBeDefined();
});
