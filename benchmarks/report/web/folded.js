// What is folded is built when it is opened: certificates, failed first, and why a solver did not answer.
function once(id, make) {
  const part = document.getElementById(id);
  if (!part) return;
  const build = () => { if (part.open && !part.built) { part.built = true; make(part); } };
  part.addEventListener("toggle", build);
  part.build = build;
}

const list = (caption, heads, lines) => `<div class="scroll" tabindex="0" role="region" aria-label="${escaped(caption)}"><table class="list"><caption>${escaped(caption)}</caption><thead><tr>${heads.map((h) => `<th scope="col">${h}</th>`).join("")}</tr></thead><tbody>${lines.map((l) => `<tr>${l.map((c) => `<td>${c}</td>`).join("")}</tr>`).join("")}</tbody></table></div>`;
const titled = (kind) => escaped(problems.get(kind).title);
const code = (text) => `<code>${escaped(text)}</code>`;

once("certificates", () => {
  const bad = rows.filter((row) => row.alarm).sort((a, b) => a.alarm - b.alarm);
  const failed = bad.map((row) => [
    `${row.red ? `<b class="alarmtext">the claim does not hold</b>` : `<b class="badtext">the claim holds, the record differs</b>`}`,
    code(called(row.solver)), `${titled(row.problem)}: ${escaped(caseName(row.of))}`, escaped(row.differs || row.reason), code("privopt verify problem.json solution.json"),
  ]);
  $("#certificates-list").innerHTML = (bad.length ? list("What differed when proved again", ["verdict", "solver", "case", "what differs", "to prove it again"], failed) : `<p>Every certificate held when it was proved again from its stored form.</p>`) + byProblem() + over();
});

function byProblem() {
  const lines = data.problems.map((p) => {
    const own = rows.filter((row) => row.problem === p.kind && row.certified);
    const held = own.filter((row) => row.verified).length;
    const lost = own.filter((row) => row.lost > 0).sort((a, b) => b.lost - a.lost)[0];
    const much = lost && lost.lost > 1e-6 * Math.max(1, Math.abs(lost.objective ?? 0));
    const where = lost ? `${digits(lost.lost, 2)} by ${code(called(lost.solver))}` : "nothing";
    return [titled(p.kind), own.length, held === own.length ? "all" : `<b class="badtext">${held}</b>`, own.filter((row) => row.repaired).length, much ? `<b class="badtext">⚠ ${where}</b>` : where];
  });
  return list("Certificates by problem; a repair that took more than 1e−6 is marked", ["problem", "certified", "held when proved again", "repaired", "most utility lost by repair"], lines);
}

function over() {
  const bySolver = new Map();
  for (const row of rows.filter((row) => row.over)) {
    const key = `${row.problem}|${row.solver}`;
    const one = bySolver.get(key) ?? bySolver.set(key, { row, n: 0, withheld: 0, most: 0 }).get(key);
    one.n += 1;
    one.withheld += row.answered ? 0 : 1;
    one.most = Math.max(one.most, row.excess ?? 0);
  }
  if (!bySolver.size) return "<p>No proposal was over its budget.</p>";
  const lines = [...bySolver.values()].sort((a, b) => b.most - a.most).map((one) => [titled(one.row.problem), code(one.row.solver), one.n, one.n - one.withheld, one.withheld, one.most === Infinity ? "without bound" : digits(one.most, 2)]);
  return list("Proposals over their budget, before repair; largest excess first", ["problem", "solver", "proposals", "repaired", "withheld", "largest excess"], lines);
}

// Reasons that differ in numbers only are one line.
const masked = (reason) => few(reason.replace(/\d[\d.,]*(e[+−-]?\d+)?/g, "…"), 200);
const RANKS = ["not private", "certificate", "failed", "out of time", "no mechanism exists", "refused"];

once("why", () => {
  const all = [["", "all problems"], ...data.problems.map((p) => [p.kind, p.short])];
  $("#why-list").innerHTML = `<div class="chips" role="group" aria-label="Problem">${all.map(([kind, name]) => `<button type="button" data-why="${escaped(kind)}" aria-pressed="${kind === state.problem}">${escaped(name)}</button>`).join("")}</div><div id="why-lines"></div>`;
  why(state.problem);
});

function why(kind) {
  for (const chip of $$("[data-why]")) chip.setAttribute("aria-pressed", chip.dataset.why === kind);
  const alike = new Map();
  for (const row of rows.filter((row) => row.stands && row.loss == null && (!kind || row.problem === kind))) {
    const key = [row.problem, row.solver, row.kind, masked(row.reason)].join("|");
    const one = alike.get(key) ?? alike.set(key, { row, n: 0, where: new Set() }).get(key);
    one.n += 1;
    one.where.add(row.of.on.title);
  }
  const rank = ({ row }) => RANKS.indexOf(row.kind);
  const lines = [...alike.values()].sort((a, b) => rank(a) - rank(b) || b.n - a.n).map(({ row, n, where }) => [
    titled(row.problem), code(called(row.solver)), row.kind === "refused" ? "refused" : `<b class="badtext">${row.kind === "certificate" ? "no certificate" : row.kind}</b>`, n,
    escaped([...where].slice(0, 3).join(", ") + (where.size > 3 ? ` and ${where.size - 3} more` : "")), escaped(masked(row.reason)),
  ]);
  $("#why-lines").innerHTML = lines.length ? list("Why solvers did not answer; not private first, numbers masked", ["problem", "solver", "what", "cases", "where", "why"], lines) : "<p>Every solver answered every case.</p>";
}

once("released", () => {
  if (!drawable || !data.mechanism) return;
  const box = figure($("#mechanism"), "mechanism", data.mechanism.title, "", "", async (plotted) => plot(plotted, { ...data.mechanism.spec, width: Math.min(760, plotted.clientWidth - 60) }));
  $("figcaption", box).textContent = data.mechanism.caption;
  $(".save", box).remove();
  box.draw();
});
