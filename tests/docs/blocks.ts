/** The fenced code blocks of a Markdown page, each with the output block that follows it. */

export interface Block {
  language: string;
  /** Line of the page on which the block's code begins, from 1. */
  line: number;
  code: string;
  /** What the page shows as output; undefined where it shows none. */
  output: string | undefined;
}

/** A block of this language right after another one is that one's output. */
const outputLanguage = "text";

export function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  const lines = page.split("\n");
  let previousEnd = -1;
  for (let at = 0; at < lines.length; at++) {
    const fence = /^```(\S*)\s*$/.exec(lines[at]!);
    if (!fence) continue;
    const start = at + 1;
    while (++at < lines.length && lines[at] !== "```");
    const code = lines.slice(start, at).join("\n");
    const language = fence[1]!;
    const between = lines
      .slice(previousEnd + 1, start - 1)
      .join("")
      .trim();
    const before = blocks.at(-1);
    if (language === outputLanguage && before && before.output === undefined && between === "") before.output = code;
    else blocks.push({ language, line: start + 1, code, output: undefined });
    previousEnd = at;
  }
  return blocks;
}

/**
 * Why the real output is not what the page shows, or undefined. `…` in the page stands for any text within a line, and a
 * line that is only `…` for any number of lines. Spaces at line ends do not count.
 */
export function outputFault(shown: string, real: string): string | undefined {
  const tidy = (text: string) => text.replace(/[ \t]+$/gm, "").replace(/^\n+|\n+$/g, "");
  const pattern = tidy(shown)
    .split("\n")
    .map((line) =>
      line.trim() === "…"
        ? "(?:.*\\n)*?.*"
        : line
            .split("…")
            .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
            .join(".*"),
    )
    .join("\\n");
  if (new RegExp(`^${pattern}$`).test(tidy(real))) return undefined;
  return `the page shows\n${tidy(shown)}\nand it really is\n${tidy(real)}`;
}
