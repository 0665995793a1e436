/** `completion bash|zsh|fish`: a script for the shell, made from the commands and flags themselves. */
import { Argument, type Command } from "commander";
import type { CommandContext } from "./kafka_commands.ts";

const shells = ["bash", "zsh", "fish"] as const;

export function addCompletion(program: Command, { io, act }: CommandContext): void {
  program
    .command("completion")
    .description("print a completion script: rowlog completion bash > /etc/bash_completion.d/rowlog")
    .addArgument(new Argument("<SHELL>", "the shell").choices(shells))
    .action((shell: (typeof shells)[number]) =>
      act(async () => {
        await io.out(scripts[shell](nodes(program)));
        return 0;
      }),
    );
}

interface Node {
  /** Words before it, for example `topic create`; empty for the program. */
  path: string;
  commands: { name: string; text: string }[];
  flags: { long?: string; short?: string; text: string; takesValue: boolean }[];
}

function nodes(command: Command, path = ""): Node[] {
  const visible = command.commands.filter((sub) => !(sub as Command & { _hidden?: boolean })._hidden);
  const node: Node = {
    path,
    commands: visible.map((sub) => ({ name: sub.name(), text: sub.description() })),
    flags: command.options
      .filter((option) => !option.hidden)
      .map((option) => ({
        long: option.long,
        short: option.short,
        text: (option.description.split(/ \[|\. /)[0] as string).replaceAll(/[`']/g, ""),
        takesValue: option.required || option.optional,
      })),
  };
  return [node, ...visible.flatMap((sub) => nodes(sub, `${path} ${sub.name()}`.trim()))];
}

const words = (node: Node) => [
  ...node.commands.map(({ name }) => name),
  ...node.flags.flatMap(({ long, short }) => [long, short]).filter((flag) => flag !== undefined),
];

const scripts: Record<(typeof shells)[number], (all: Node[]) => string> = {
  bash: (all) => `# bash completion for rowlog
_rowlog() {
  local word="\${COMP_WORDS[COMP_CWORD]}" path="" candidate i
  for ((i = 1; i < COMP_CWORD; i++)); do
    candidate="\${path:+$path }\${COMP_WORDS[i]}"
    case "$candidate" in
${all
  .filter(({ path }) => path !== "")
  .map(({ path }) => `      "${path}") path="$candidate" ;;`)
  .join("\n")}
    esac
  done
  local words=""
  case "$path" in
${all.map((node) => `    "${node.path}") words="${words(node).join(" ")}" ;;`).join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  if [ \${#COMPREPLY[@]} -eq 0 ]; then COMPREPLY=($(compgen -f -- "$word")); fi
}
complete -F _rowlog rowlog
`,
  zsh: (all) => `#compdef rowlog
# zsh completion for rowlog
_rowlog() {
  local path="" candidate i
  for ((i = 2; i < CURRENT; i++)); do
    candidate="\${path:+$path }\${words[i]}"
    case "$candidate" in
${all
  .filter(({ path }) => path !== "")
  .map(({ path }) => `      "${path}") path="$candidate" ;;`)
  .join("\n")}
    esac
  done
  local -a found
  case "$path" in
${all.map((node) => `    "${node.path}") found=(${zshWords(node)}) ;;`).join("\n")}
  esac
  _describe rowlog found || _files
}
if [ "$funcstack[1]" = _rowlog ]; then _rowlog "$@"; else compdef _rowlog rowlog; fi
`,
  fish: (all) => `# fish completion for rowlog
function __rowlog_at
  set -l path ""
  set -l tokens (commandline -opc)
  for token in $tokens[2..-1]
    set -l candidate (string trim "$path $token")
    if contains -- "$candidate" ${all
      .filter(({ path }) => path !== "")
      .map(({ path }) => `"${path}"`)
      .join(" ")}
      set path $candidate
    end
  end
  test "$path" = "$argv[1]"
end
${all.map(fishLines).join("")}`,
};

function zshWords(node: Node): string {
  const entry = (word: string, text: string) =>
    `'${word.replaceAll(":", "\\:")}:${text.replaceAll("'", "").replaceAll(":", " ")}'`;
  return [
    ...node.commands.map(({ name, text }) => entry(name, text)),
    ...node.flags.flatMap(({ long, short, text }) =>
      [long, short].filter((flag) => flag !== undefined).map((flag) => entry(flag, text)),
    ),
  ].join(" ");
}

function fishLines(node: Node): string {
  const at = `-n '__rowlog_at "${node.path}"'`;
  const commands = node.commands.map(
    ({ name, text }) => `complete -c rowlog -f ${at} -a ${name} -d '${text.replaceAll("'", "")}'\n`,
  );
  const flags = node.flags.map(({ long, short, text, takesValue }) => {
    const names = `${long ? ` -l ${long.slice(2)}` : ""}${short ? ` -s ${short.slice(1)}` : ""}`;
    return `complete -c rowlog ${at}${names}${takesValue ? " -r" : ""} -d '${text}'\n`;
  });
  return [...commands, ...flags].join("");
}
