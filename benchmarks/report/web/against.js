// Beside another run: its page or its rows.jsonl, read here and sent nowhere. Cells say what changed since; the sentence counts.
let against = null;
const SAME = 1e-6;
const PAIRS = 8;
const place = (problem, instance, budget, solver) => JSON.stringify([problem, instance, budget, solver]);

// The medians of certified answers, and of their seconds, by problem, instance, budget and solver.
function medians(answers) {
  const groups = new Map();
  for (const { key, objective, seconds: time } of answers) {
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push([objective, time]);
  }
  return new Map([...groups].map(([key, values]) => [key, { objective: middle(values.map(([x]) => x)), seconds: middle(values.map(([, x]) => x)) }]));
}

const ours = (row) => place(row.problem, row.of.on.name, row.of.budget, row.solver);
const answered = (row) => row.certified && row.answered && row.objective != null;

function ofPage(text) {
  const written = $("#data", new DOMParser().parseFromString(text, "text/html"))?.textContent;
  if (!written) throw new Error("no rows");
  return inflatedText(written).then((json) => {
    const told = JSON.parse(json);
    const [where, asked] = [records(told.instances), records(told.cases)];
    return records(told.rows).filter(answered).map((row) => {
      const on = where[asked[row.case].instance];
      return { key: place(told.problems[on.problem].kind, on.name, asked[row.case].budget, row.solver), objective: row.objective, seconds: row.seconds };
    });
  });
}

function ofLines(text) {
  const told = text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  if (!told.every((row) => typeof row.question === "string" && typeof row.solver === "string")) throw new Error("no rows");
  return told.filter((row) => row.certified && row.objective != null).map((row) => ({ key: place(row.question, row.instance, plain(row.budget), row.solver), objective: plain(row.objective), seconds: row.seconds }));
}

// -1, 0 or 1: whether the answer is worse, as good or better than that of the other run; null where one of them has none.
function change(row) {
  const before = against?.answers.get(ours(row))?.objective;
  if (before == null || row.loss == null) return null;
  const now = level(row);
  if (now === before) return 0;
  const apart = (now - before) / Math.max(Math.abs(now), Math.abs(before));
  return Math.abs(apart) <= SAME ? 0 : Math.sign(apart);
}

function changed(row) {
  const turn = change(row);
  return turn ? `<span class="turn" aria-hidden="true">${turn > 0 ? "▲" : "▼"}</span><span class="heard"> ${turn > 0 ? "better" : "worse"} than in ${escaped(against.name)}</span>` : "";
}

function before(row) {
  const other = against?.answers.get(ours(row));
  if (!against) return "";
  if (!other) return row.loss == null ? "" : `no answer in ${against.name}`;
  const turn = change(row);
  return `${turn == null ? "answered" : turn > 0 ? "better than" : turn < 0 ? "worse than" : "as good as"} in ${against.name}: ${amount(row.of.on, quantity(row.of.on, other.objective), 6)} in ${seconds(other.seconds)}`;
}

// The geometric mean of the ratios of seconds, where 95 % of its error leave out 1.
function ratio(logs) {
  if (logs.length < PAIRS) return "";
  const centre = mean(logs);
  const error = 1.96 * Math.sqrt(mean(logs.map((x) => (x - centre) ** 2)) / (logs.length - 1));
  return Math.abs(centre) > error ? ` Times are ${digits(Math.exp(centre))} times those, ${digits(Math.exp(centre - error))} to ${digits(Math.exp(centre + error))} with 95 % confidence.` : "";
}

function counted() {
  const own = rows.filter((row) => row.stands && row.loss != null);
  const turns = own.map(change);
  const many = (turn) => turns.filter((x) => x === turn).length;
  const both = own.map((row) => [row, against.answers.get(ours(row))]).filter(([row, other]) => other && row.seconds > 0 && other.seconds > 0);
  const here = new Set(own.map(ours));
  const gone = [...against.answers.keys()].filter((key) => !here.has(key)).length;
  const more = [many(null) && `${many(null)} answered only here`, gone && `${gone} only there`].filter(Boolean);
  return `Against ${against.name}: ${many(1)} better, ${many(-1)} worse, ${many(0)} the same${more.length ? `; ${more.join(", ")}` : ""}.${ratio(both.map(([row, other]) => Math.log((row.spread ? row.spread.seconds[0] : row.seconds) / other.seconds)))}`;
}

async function compare(file) {
  const said = $("#against");
  try {
    const text = await file.text();
    against = { name: file.name, answers: medians(await (/^\s*\{/.test(text) ? ofLines(text) : ofPage(text))) };
    said.textContent = counted();
  } catch {
    against = null;
    said.textContent = `${file.name} holds no rows of a run: choose the report.html or the rows.jsonl of one.`;
  }
  said.hidden = false;
  $("[data-alone]").hidden = !against;
  if (problems.size) heat(model(state.problem));
}

function alone() {
  against = null;
  $("#against").hidden = $("[data-alone]").hidden = true;
  heat(model(state.problem));
  $("[data-beside]").focus();
}
