// Solver × case: each cell says how much worse than the best; the row heads switch solvers on and off in the figures.
const BEST = new Set(["proved", "best"]);
const HOLDS = new Set([...BEST, "not distinguishable"]);
const LOOKS = { proved: "c0", best: "c0", "not distinguishable": "cu", near: "c1", close: "c2", more: "c3", certificate: "cf", "not private": "cx", "out of time": "cr", failed: "cr", "no mechanism exists": "cr", refused: "cr" };
const SIGNS = data.signs;
const MOST_COLUMNS = 24;

const quality = (row) => (row.kind === "proved" ? "best, proved optimal" : row.kind === "best" ? "best" : row.kind === "not distinguishable" ? "not distinguishable from the best" : worse(row.loss));

// Over the repetitions of a case: how many have a certified answer, and the quartiles of value and time.
function repetitions(row) {
  const { of, count, objective: [, ...ends], seconds: [, quick, slow] } = row.spread;
  const [low, high] = ends.map((x) => quantity(row.of.on, x)).sort((a, b) => a - b);
  return `${count < of ? `${count} of ${of}` : of} repetitions, quartiles ${amount(row.of.on, low, 6)} to ${amount(row.of.on, high, 6)} and ${seconds(quick)} to ${seconds(slow)}`;
}

function said(row) {
  const where = `${called(row.solver)}, ${caseName(row.of)}: `;
  if (row.loss == null) return `${where}${row.kind}. ${row.reason}${before(row) && ` ${before(row)}`}`;
  const value = `${amount(row.of.on, quantity(row.of.on, level(row)), 6)} in ${seconds(row.spread ? row.spread.seconds[0] : row.seconds)}`;
  const more = [row.chosen && `by ${row.chosen}`, row.spread && `medians of ${repetitions(row)}`, row.differs && `the record differs: ${row.differs}`, before(row)].filter(Boolean);
  return `${where}${quality(row)}: ${value}${more.length ? `; ${more.join("; ")}` : ""}`;
}

function cell(row) {
  if (!row) return "<td></td>";
  return `<td class="${LOOKS[row.kind]}" data-row="${row.place}">${SIGNS[row.kind] || percent(row.loss)}${row.spread && row.loss != null ? `<span class="heard"> ${escaped(quality(row))}, medians of ${escaped(repetitions(row))}</span>` : ""}${changed(row)}</td>`;
}

// The columns: a case each, or where they are many an instance each, which shows the worst of its budgets until it is opened.
function columns(view) {
  const many = view.cases.length > MOST_COLUMNS;
  return view.instances.map((instance) => {
    const own = view.cases.filter((one) => one.on === instance).sort((a, b) => a.budget - b.budget);
    const folded = many && own.length > 1 && !state.open.has(instance.name);
    return { instance, own, folded, many: many && own.length > 1, span: folded ? 1 : own.length };
  });
}

const order = (row) => [data.kinds.indexOf(row.kind), row.loss ?? 0];
function worst(rowsOfCases) {
  const there = rowsOfCases.filter(Boolean);
  return there.sort((a, b) => order(b)[0] - order(a)[0] || order(b)[1] - order(a)[1])[0];
}

const dot = (k, off) => `<svg viewBox="0 0 16 16" aria-hidden="true"><circle cx="8" cy="8" r="5.5" fill="${off ? "none" : k ? `var(--s${k})` : "var(--grey)"}" stroke="${k ? `var(--s${k})` : "var(--edge)"}" stroke-width="1.5"/></svg>`;

function heat(view) {
  const cols = columns(view);
  const groups = cols.map((c) => `<td class="gap"></td><th class="group" scope="colgroup" colspan="${c.span}" data-tip="${escaped(c.instance.title)}${c.instance.note ? `, ${escaped(c.instance.note)}` : ""}">${c.many ? `<button type="button" data-open="${escaped(c.instance.name)}" aria-expanded="${!c.folded}">${escaped(c.instance.title)}</button>` : escaped(c.instance.title)}</th>`).join("");
  const heads = cols.map((c) => `<td class="gap"></td>${c.folded ? `<th scope="col" class="b" style="min-width:6rem">worst of ${c.own.length}</th>` : c.own.map((one) => `<th scope="col" class="b" style="min-width:${Math.max(2.6, 10.5 / c.own.length)}rem">${digits(one.budget, 3)}</th>`).join("")}`).join("");
  const body = view.solvers.map((s) => line(view, s, cols)).join("");
  $("#heat").innerHTML = `<thead><tr><td></td><td></td><td class="time"></td>${groups}</tr><tr><th scope="col">solver</th><th scope="col">best</th><th scope="col" class="time">time</th>${heads}</tr></thead><tbody>${body}</tbody>`;
  const axes = [...new Set(view.instances.map((i) => i.budgetName))];
  $("#heat-note").textContent = `Columns: ${axes.join(", ")}. Best: of the cases that the solver takes.${view.cases.length > MOST_COLUMNS ? " A title opens its budgets." : ""}`;
}

function line(view, s, cols) {
  const [off, auto] = [state.hide.has(s.name), s.name === data.auto];
  const role = auto ? "chooses by itself" : ROLES[s.role] === s.name ? "" : ROLES[s.role] ?? "";
  const name = escaped(called(s.name));
  const cells = cols.map((c) => {
    const own = c.own.map((one) => s.entries.get(one.index));
    return `<td class="gap"></td>${(c.folded ? [worst(own)] : own).map(cell).join("")}`;
  }).join("");
  return `<tr class="${auto ? "solve" : ""}${off ? " off" : ""}" data-solver="${escaped(s.name)}"><th scope="row"><button type="button" class="eye" data-hide="${escaped(s.name)}" aria-pressed="${!off}" aria-label="${name} in the figures">${dot(view.look.get(s.name) ?? 0, off)}</button><code>${name}</code><span class="role">${role}</span><button type="button" class="only" data-only="${escaped(s.name)}" aria-label="Only ${name} in the figures">only</button></th><td class="sum">${s.taken ? `${s.won}/${s.taken}${s.undecided ? ` ≈${s.undecided}` : ""}` : "–"}</td><td class="sum time"${s.timed ? ` data-tip="${escaped(s.timed)}"` : ""}>${s.timed ? `<span class="heard">${escaped(s.timed)}: </span>` : ""}${s.seconds == null ? "–" : seconds(s.seconds)}</td>${cells}</tr>`;
}
