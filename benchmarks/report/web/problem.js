// One problem: its cases, and its solvers with the row that stands for each case.
const models = new Map();

function model(kind) {
  if (!models.has(kind)) models.set(kind, made(kind));
  return models.get(kind);
}

function made(kind) {
  const words = problems.get(kind);
  const own = rows.filter((row) => row.problem === kind);
  const asked = cases.filter((one) => one.problem === kind);
  const bySolver = new Map(words.solvers.map((s) => [s.name, { ...s, entries: new Map(), rows: [] }]));
  for (const row of own) {
    const solver = bySolver.get(row.solver);
    solver.rows.push(row);
    if (row.stands) solver.entries.set(row.case, row);
  }
  for (const solver of bySolver.values()) {
    solver.good = [...solver.entries.values()].filter((row) => row.loss != null);
    solver.loss = mean(solver.good.map((row) => row.loss));
  }
  for (const one of asked) one.scale = Math.max(Math.abs(one.best ?? 0), middle(own.filter((r) => r.stands && r.loss != null && r.case === one.index).map((r) => Math.abs(level(r)))) ?? 0);
  const used = [...new Set(asked.map((one) => one.on))];
  return { kind, words, rows: own, cases: asked, instances: used, solvers: [...bySolver.values()], look: look(words, bySolver) };
}

// At most five solvers are coloured: those named, the simple method, then the next that differ from these.
function look(words, bySolver) {
  const away = (name) => (bySolver.get(name)?.loss ?? 0).toPrecision(3);
  const known = (name) => bySolver.get(name)?.good.length;
  const picks = words.named.slice(0, 3).filter(known);
  const simple = known(words.reference) ? words.reference : null;
  const seen = new Set([simple, ...picks].filter(Boolean).map(away));
  const others = [...bySolver.values()].filter((s) => s.good.length && s.name !== data.auto && s.role !== "ORACLE" && s.name !== simple && !picks.includes(s.name));
  const rest = others.sort((a, b) => b.won - a.won || a.loss - b.loss).filter((s) => !seen.has(away(s.name)) && seen.add(away(s.name))).map((s) => s.name);
  const order = [...new Set([picks[0], simple, ...picks.slice(1), ...rest].filter(Boolean))];
  return new Map(order.slice(0, 5).map((name, i) => [name, i + 1]));
}

const shown = (view) => view.solvers.filter((s) => !state.hide.has(s.name));
const DASH = [[], [], [6, 3], [2, 2], [8, 2, 2, 2], [1, 3]];
const ROLES = { OPTIMAL: "proves", BOUNDED: "bounds", FEASIBLE: "heuristic", BASELINE: "baseline", ORACLE: "brute force", "": "" };

// The finding of a problem, as one sentence of HTML.
function finding(view) {
  if (!view.words.answered) return "No solver has a certified answer.";
  const names = view.words.named.map((name) => `<code>${escaped(name)}</code>`);
  const [n, reached, proved] = [view.cases.length, view.words.reached, view.cases.filter((one) => one.proved).length];
  const who = names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : names[0];
  const where = reached === n ? (n > 1 ? `all ${n} cases` : "the one case") : `${reached} of ${n} cases`;
  const best = names.length ? `${who} ${names.length > 1 ? "together are" : "is"} best in ${where};` : `No solver by name is best in ${n > 1 ? "any case" : "the one case"}${view.words.answered > view.words.bySolve + view.words.undecided ? ", brute force aside" : ""};`;
  const rest = proved === n ? " every answer is proved optimal." : proved ? ` ${proved} ${proved > 1 ? "answers are" : "answer is"} proved optimal.` : " none is proved optimal.";
  const alone = view.words.bySolve ? ` In ${view.words.bySolve} ${view.words.bySolve > 1 ? "cases" : "case"} only <code>solve()</code> is best.` : "";
  const oracle = view.words.byOracle ? ` In ${view.words.byOracle} ${view.words.byOracle > 1 ? "cases" : "case"} only brute force is best.` : "";
  const tied = view.words.undecided ? ` In ${view.words.undecided} ${view.words.undecided > 1 ? "cases" : "case"} the repetitions do not tell which solver is best.` : "";
  return best + rest + alone + oracle + tied + itself(view);
}

function itself(view) {
  const auto = view.solvers.find((s) => s.name === data.auto);
  if (!auto) return "";
  const missed = [...auto.entries.values()].filter((row) => row.of.best != null && !HOLDS.has(row.kind)).sort((a, b) => (b.loss ?? Infinity) - (a.loss ?? Infinity));
  const tied = auto.undecided ? ` <code>solve()</code> cannot be told from the best in ${auto.undecided}.` : "";
  if (!missed.length) return tied || " <code>solve()</code> finds every best answer by itself.";
  const [first] = missed;
  const how = first.loss == null ? "has no certified answer" : `took <code>${escaped(first.chosen || "another solver")}</code>, ${worse(first.loss)},`;
  return `${tied} <code>solve()</code> misses ${missed.length}: it ${how} on “${escaped(caseName(first.of))}”.`;
}
