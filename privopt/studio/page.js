"use strict";
const $ = id => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
let table = null, job = 0, facts = null, points = [], current = 0.3, received = 0, timer = 0, choice = "";

function element(name, fields = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(fields)) key in made ? made[key] = value : made.setAttribute(key, value);
  made.append(...inside);
  return made;
}
function drawn(name, fields, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(fields)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}
const count = n => n.toLocaleString("en");
const percent = (p, digits = 1) => (100 * p).toFixed(digits) + " %";
const short = x => String(Number(x.toPrecision(3)));
const plural = (n, one, many = one + "s") => `${count(n)} ${n === 1 ? one : many}`;
const listed = names => names.length < 2 ? names.join("") : names.slice(0, -1).join(", ") + " and " + names[names.length - 1];

function complain(sentence) {
  $("error").replaceChildren(element("strong", {}, "This did not work. "), sentence);
  $("error").hidden = false;
  $("error").scrollIntoView({block: "nearest"});
}
function calm() { $("error").hidden = true; }
async function ask(route, fields) {
  const how = fields === undefined ? {} : {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(fields)};
  let answer;
  try { answer = await fetch("api/" + route, how); }
  catch { throw new Error("The studio does not answer; is the command that started it still running?"); }
  if (!answer.ok) {
    const why = new Error((await answer.json().catch(() => ({}))).error || "The studio could not answer.");
    why.status = answer.status;
    throw why;
  }
  return answer;
}
async function attempt(what) {
  calm();
  try { return await what(); } catch (why) { complain(why.message); }
}

// 1. the table and its columns
async function read(again) {
  await attempt(async () => {
    $("retry").hidden = true;
    const parts = document.querySelectorAll("#choose > h2, #choose > p.soft:not(#status)");
    try { table = await (await ask("table", again ? {} : undefined)).json(); }
    catch (why) {
      $("file").textContent = "No table could be read.";
      $("choose").hidden = false; $("form").hidden = true; $("retry").hidden = false; $("nothing").hidden = true; $("reread").hidden = true;
      parts.forEach(part => part.hidden = true);
      throw why;
    }
    parts.forEach(part => part.hidden = false);
    $("file").textContent = `${table.file}: ${plural(table.rows, "row")}, ${plural(table.columns.length, "column")}` + (table.nameless ? ", and one without a name that is left out" : "");
    document.title = `${table.file} – privopt studio`;
    $("choose").hidden = false; $("form").hidden = false; $("reread").hidden = false;
    $("nothing").hidden = points.length > 0;
    $("find-row").hidden = table.columns.length < 13;
    $("folder").textContent = table.folder;
    columns = table.columns.map((facts, place) => new Column(facts, place));
    $("columns").replaceChildren(...columns.map(column => column.row));
    earlier(table.earlier);
    if (again) { $("status").textContent = "The file was read again."; }
    changed();
  });
}
let columns = [];
const kinds = {
  values: "each value by itself", numbers: "each number by itself", auto: "ranges, chosen for you", quantiles: "ranges with equally many rows", equal: "ranges equally wide",
  width: "ranges of this width", minimum: "ranges of at least so many rows", edges: "ranges between these edges", order: "values in this order", tree: "values along a hierarchy",
};
const parameters = {quantiles: [8, "Number of ranges"], equal: [5, "Number of ranges"], width: [10, "Width"], minimum: [50, "Rows in each range"]};
class Column {
  constructor(facts, place) {
    this.facts = facts; this.id = `column-${place}`; this.levels = ""; this.values = [...facts.values]; this.as = null;
    this.row = element("li", {className: "column"});
    const name = element("span", {className: "name", id: `${this.id}-name`}, facts.name);
    const roles = element("span", {className: "roles", role: "radiogroup"});
    roles.setAttribute("aria-labelledby", name.id);
    this.roles = [["", "leave out"], ["secret", "secret"], ["release", "release"]].map(([value, text]) => {
      const choice = element("input", {type: "radio", name: `${this.id}-use`, value, checked: value === "", disabled: facts.distinct < 1});
      choice.addEventListener("change", () => this.used());
      roles.append(element("label", {}, choice, element("span", {}, text)));
      return choice;
    });
    this.row.append(element("div", {className: "top"}, name, roles), element("p", {className: "about soft"}, this.about()));
    if (facts.advice) this.row.append(element("span", {className: "advice"}, facts.advice));
  }
  about() {
    const f = this.facts, empty = f.missing ? `; ${count(f.missing)} empty` : "", different = plural(f.distinct, f.numeric ? "number" : "value");
    if (!f.distinct) return "no values";
    if (f.numeric) return `${different}, ${f.low.toLocaleString("en")} to ${f.high.toLocaleString("en")}${empty}`;
    return `${different}: ${f.few.join(", ")}${f.distinct > f.few.length ? ", …" : ""}${empty}`;
  }
  get use() { return this.roles.find(role => role.checked).value; }
  used() {
    this.row.className = "column " + this.use;
    if (this.as) this.as.remove();
    this.as = null;
    const choices = this.choices();
    if (this.use && choices.length > 1) this.row.append(this.reading(choices));
    changed();
  }
  choices() {
    const f = this.facts, release = this.use === "release", listed = f.values.length > 1;
    if (f.numeric && f.distinct > 2) return [...(f.ranges ? ["auto", "quantiles", "equal", "width", "minimum", "edges", "numbers"] : ["values", "quantiles", "equal", "width", "minimum", "edges"]), ...(release ? ["tree"] : [])];
    return release && f.distinct > 2 ? ["values", ...(listed ? ["order"] : []), "tree"] : ["values"];
  }
  reading(choices) {
    const f = this.facts, kind = element("select", {id: `${this.id}-as`, ariaLabel: `${f.name}: read as`});
    for (const value of choices) kind.append(element("option", {value}, value === "values" && f.numeric ? kinds.numbers : kinds[value]));
    kind.value = choices.includes(this.kind) ? this.kind : choices[0];
    this.as = element("div", {className: "as"}, element("label", {htmlFor: kind.id}, "read as"), kind);
    const shown = () => { this.kind = kind.value; this.as.querySelectorAll(".more").forEach(part => part.remove()); this.as.append(...this.details()); };
    kind.addEventListener("change", () => {
      shown();
      if (["order", "tree"].includes(kind.value)) $("contiguous").checked = true;
      changed();
    });
    shown();
    return this.as;
  }
  details() {
    const f = this.facts;
    if (this.kind in parameters) {
      const [usual, label] = parameters[this.kind], value = this.kind === "width" ? step(f.low, f.high) : usual;
      this.parameter = element("input", {type: "number", className: "more", min: 0, step: "any", value, ariaLabel: `${label} of ${f.name}`});
    } else if (this.kind === "edges") {
      this.parameter = element("input", {type: "text", className: "more", placeholder: `${f.low}, …, ${f.high}`, ariaLabel: `Edges of the ranges of ${f.name}, separated by commas`});
    } else if (this.kind === "order") {
      return [this.list()];
    } else if (this.kind === "tree") {
      const file = element("input", {type: "file", className: "more", accept: ".csv,.txt,text/csv", ariaLabel: `File of the hierarchy of ${f.name}`});
      file.addEventListener("change", async () => { this.levels = file.files.length ? await file.files[0].text() : ""; changed(); });
      return [file, element("span", {className: "more hint"}, "A line value;level1;level2;… for each value, as ARX writes it. It stays on this computer.")];
    } else return [];
    this.parameter.addEventListener("input", changed);
    return [this.parameter];
  }
  list() {
    const list = element("ol", {className: "ordered more", ariaLabel: `Values of ${this.facts.name} from first to last`});
    const fill = () => list.replaceChildren(...this.values.map((value, i) => {
      const move = (by, sign, where) => {
        const button = element("button", {type: "button", ariaLabel: `Move ${value} ${where}`, disabled: i + by < 0 || i + by >= this.values.length}, sign);
        button.addEventListener("click", () => {
          this.values.splice(i, 1); this.values.splice(i + by, 0, value);
          fill(); changed();
          const again = list.children[i + by].querySelectorAll("button"), next = again[by < 0 ? 0 : 1];
          (next.disabled ? again[by < 0 ? 1 : 0] : next).focus();
        });
        return button;
      };
      return element("li", {}, element("span", {}, value), move(-1, "↑", "up"), move(1, "↓", "down"));
    }));
    fill();
    return list;
  }
  tell(fields) {
    const f = this.facts, name = f.name;
    if (!this.use) return;
    (this.use === "secret" ? fields.secret : fields.columns).push(name);
    const kind = this.as ? this.kind : "";
    if (kind in parameters) {
      if (this.parameter.value === "") throw new Error(`Give the number for the ranges of ${name}.`);
      fields.bins[name] = `${kind}:${this.parameter.value}`;
    } else if (kind === "edges") {
      if (!this.parameter.value.trim()) throw new Error(`Give the edges of the ranges of ${name}, such as ${f.low}, …, ${f.high}.`);
      fields.bins[name] = `edges:${this.parameter.value}`;
    } else if (kind === "numbers") fields.order[name] = [];
    else if (kind === "order") fields.order[name] = this.values;
    else if (kind === "tree") {
      if (!this.levels) throw new Error(`Choose the file of the hierarchy of ${name}.`);
      fields.hierarchies[name] = this.levels;
    }
  }
}
function step(low, high) {
  const rough = Math.max((high - low) / 8, 1e-9), power = 10 ** Math.floor(Math.log10(rough));
  return short(power * ([1, 2, 5, 10].find(f => f * power >= rough * 0.999) || 10));
}
function chosen() {
  const minimum = $("minimum").value;
  const fields = {secret: [], columns: [], bins: {}, order: {}, hierarchies: {}, missing: $("missing").value, contiguous: $("contiguous").checked,
    minimum_count: minimum === "" ? null : Number(minimum), seconds: Number($("seconds").value)};
  for (const column of columns) column.tell(fields);
  return fields;
}
function changed() {
  const empty = columns.filter(column => column.use && column.facts.missing);
  $("missing-row").hidden = !empty.length;
  $("missing-label").textContent = `Empty cells of ${listed(empty.map(column => column.facts.name))}`;
  let now = "";
  try { now = JSON.stringify(chosen()); } catch { /* what is not typed yet is another choice too */ }
  $("stale").hidden = !points.length || now === choice;
}
function earlier(found) {
  $("earlier").hidden = !found;
  if (!found) return;
  $("earlier-save").hidden = Boolean(found.error);
  $("earlier-text").textContent = found.error ? `The folder ${table.folder} holds something else: ${found.error} Start the studio with --output and another folder.`
    : `A release is in ${found.folder}: ${listed(found.columns)} of ${plural(found.rows, "row")} with ε = ${short(found.epsilon)}, ${percent(found.useful)} of the information kept; the secret is ${listed(found.secret)}. The same people are released once only: whoever asks for the same gets this one.`;
}

// 2. the computation
async function begin() {
  await attempt(async () => {
    const fields = chosen();
    $("start").disabled = true; $("status").textContent = "";
    let started;
    try { started = await (await ask("start", {...fields, replaces: job})).json(); }
    finally { $("start").disabled = false; }
    job = started.job; points = []; received = 0; facts = null; choice = JSON.stringify(fields);
    for (const id of ["tradeoff", "risks", "meaning", "take"]) $(id).hidden = true;
    $("stale").hidden = true; $("saved").textContent = ""; $("nothing").hidden = true;
    watch();
  });
}
function counted(told) {
  facts = told;
  $("counted").textContent = `${plural(facts.rows, "row")}` + (facts.dropped ? ` (${count(facts.dropped)} left out, since a cell is empty)` : "") +
    `; ${plural(facts.symbols, "combination")} of ${facts.columns.join(", ")}; ${plural(facts.secrets, "value")} of ${facts.secret.join(", ")}.`;
  $("notes").replaceChildren(...facts.notes.map(note => element("li", {}, note)));
  $("notes").hidden = !facts.notes.length;
}
function watch() {
  clearTimeout(timer);
  const mine = job;
  const busy = on => { $("running").hidden = !on; $("waiting").hidden = !on || points.length > 0; for (const id of ["exact", "longer"]) $(id).querySelector("button").disabled = on; };
  busy(true); $("bar").removeAttribute("value"); $("stop").disabled = false;
  const look = async () => {
    if (mine !== job) return;
    try {
      const now = await (await ask(`progress?job=${mine}&since=${received}`)).json();
      if (mine !== job) return;
      received += now.points.length;
      if (now.facts && !facts) counted(now.facts);
      if (now.points.length) take(now.points);
      if (now.left !== null) $("bar").value = now.fraction;
      if (now.state === "running") { $("status").textContent = doing(now); timer = setTimeout(look, 300); return; }
      busy(false);
      if (now.error) { $("status").textContent = ""; $("nothing").hidden = points.length > 0; return complain(now.error[0].toUpperCase() + now.error.slice(1) + (/[.!?]$/.test(now.error) ? "" : ".")); }
      ended(now);
    } catch (why) { busy(false); $("status").textContent = ""; complain(why.message); }
  };
  look();
}
function doing(now) {
  const message = now.message[0].toUpperCase() + now.message.slice(1);
  if (now.stopping) return "Stopping, when this point is done …";
  return message + " …" + (now.left === null ? "" : ` ${plural(Math.max(1, Math.ceil(now.left)), "second")} more at most.`);
}
function ended(now) {
  const bad = points.filter(p => !p.ok).length;
  $("status").textContent = now.state === "stopped" ? `Stopped; ${plural(solved().length, "point")} of the curve ${solved().length === 1 ? "is" : "are"} there.`
    : `Done: ${plural(solved().length, "point")} on the curve.` + (bad ? ` For ${bad} more no release was proved in the time; give more seconds under “More choices”.` : "");
  if (!solved().length) {
    $("nothing").hidden = false;
    if (now.state === "done") complain("No release was proved in the time: " + (points[0]?.reason || "") + ". Choose fewer columns or wider ranges, or give more seconds under “More choices”.");
  } else show();
}
const solved = () => points.filter(p => p.ok);
function take(more) {
  const known = new Set(more.map(p => p.epsilon));
  points = points.filter(p => !known.has(p.epsilon)).concat(more).sort((a, b) => a.epsilon - b.epsilon);
  if (!solved().length) return;
  $("waiting").hidden = true;
  for (const id of ["tradeoff", "risks", "meaning", "take"]) $(id).hidden = false;
  show();
}

// 3. what is shown for a point
function show() {
  const there = solved();
  let place = there.findIndex(p => p.epsilon === current);
  if (place < 0) place = Math.max(0, there.findLastIndex(p => p.epsilon <= current));
  const p = there[place], slider = $("slider");
  slider.max = there.length - 1; slider.value = place;
  $("epsilon").textContent = `ε = ${short(p.epsilon)}`;
  slider.setAttribute("aria-valuetext", `epsilon ${short(p.epsilon)}: at most ${p.factor} times as likely or unlikely, ${percent(p.useful)} useful`);
  $("key-factor").textContent = p.factor;
  $("key-useful").textContent = percent(p.useful);
  $("key-guess").textContent = percent(p.risk.guess);
  $("key-before").textContent = `of cases; without any release in ${percent(facts.nothing.guess)}`;
  $("longer").hidden = p.most === null || p.most - p.useful < 0.005;
  curves(there, p); risks(p); meaning(p); line(p);
}
async function line(p) {
  const mine = job;
  try {
    const told = await (await ask("command", {job, epsilon: p.epsilon})).json();
    if (mine !== job || now().epsilon !== p.epsilon) return;
    $("command-row").hidden = !told.command;
    $("command").textContent = told.command;
  } catch { $("command-row").hidden = true; }
}
function risks(p) {
  const a = facts.nothing, b = facts.columns_as_they_are, c = p.risk, secret = listed(facts.secret);
  const times = r => r.factor === null ? "without limit" : short(r.factor) + " times";
  const about = (x, exact) => exact ? count(x) : x < 1 ? "less than 1 on average" : `about ${count(x < 10 ? Number(x.toFixed(1)) : Math.round(x))}`;
  bars([["seeing nothing", a.guess, ""], ["seeing the columns as they are", b.guess, "raw"], ["seeing this release", c.guess, "this"]], secret);
  const hundred = x => `${Math.round(100 * x)} of 100`;
  const gained = c.guess - a.guess, words = [];
  words.push(`Somebody who guesses ${secret} of a person is right for ${hundred(a.guess)} people without any release. The columns as they are would make it ${hundred(b.guess)}; this release makes it ${hundred(c.guess)}` +
    (gained < 5e-4 ? ", so it does not help to guess." : "."));
  words.push((b.factor === null ? `In the columns as they are, some values rule a value of ${secret} out, or give it away.` : `The columns as they are make some value of ${secret} ${short(b.factor)} times as likely or unlikely as before.`) +
    ` In this release, no value of ${secret} becomes more than ${p.factor} times as likely, or as unlikely, as before.`);
  words.push(`${b.unique === 0 ? "Nobody" : b.unique === 1 ? "One person" : `${count(b.unique)} of ${count(facts.rows)} people`} can be singled out by the columns as they are, being the only ${b.unique > 1 ? "ones" : "one"} with their values; ` +
    (c.unique === 0 ? "in this release nobody stands alone." : `in this release ${about(c.unique, c.exact)} ${c.exact && c.unique !== 1 ? "stand" : "stands"} alone.`));
  $("risk-words-list").replaceChildren(...words.map(text => element("li", {}, text)));
  const rows = [
    ["Guess the secret of a row and be right", percent(a.guess), percent(b.guess), percent(c.guess)],
    ["Find a value of the secret likelier or unlikelier than before: at most so many times", "unchanged", times(b), p.factor + " times"],
    ["Narrow a person down to the rows that look alike: rows in the smallest such group", count(a.smallest), count(b.smallest), about(c.smallest, c.exact)],
    ["Single a person out: rows that look like no other", count(a.unique), count(b.unique), about(c.unique, c.exact)],
  ];
  $("risk-rows").replaceChildren(...rows.map(([what, ...cells]) => element("tr", {}, element("th", {scope: "row"}, what),
    ...cells.map((text, i) => element("td", {className: i === 2 ? "number chosen" : "number", "data-label": ["nothing", "the columns as they are", "this release"][i]}, text)))));
  $("risk-note").textContent = "Guesses are those of somebody who knows how the secret and the columns go together in the table, and does their best. “The columns as they are” are the values in the file, before ranges and merging. " +
    "The proof is about the secret; it does not promise that nobody stands out. " + (c.exact ? "" : "The release is drawn at random: its groups are averages until it is drawn.");
}
function bars(rows, secret) {
  const parts = [element("span", {className: "head"}, `Right guesses of ${secret}, of 100 people`)];
  for (const [name, guess, kind] of rows) {
    const fill = element("span", {className: "fill " + kind});
    fill.style.width = `${100 * guess}%`;
    const strong = kind === "this" ? " strong" : "";
    parts.push(element("span", {className: "label" + strong}, name), element("span", {className: "track"}, fill), element("span", {className: "value" + strong}, (100 * guess).toFixed(1)));
  }
  $("bars").replaceChildren(...parts);
  $("bars-words").textContent = `Right guesses of ${secret}, of 100 people: ` + rows.map(([name, guess]) => `${name} ${(100 * guess).toFixed(1)}`).join("; ");
}
function meaning(p) {
  $("sentences").replaceChildren(...p.sentences.map(text => element("li", {}, text)));
  $("proof").textContent = (p.useful <= 1e-12 ? "This release does not depend on the data: a larger ε is needed for one that does. " : "") +
    (p.certified ? "Proved in exact arithmetic" : "Not proved") + (p.most !== null ? `; no release with this ε keeps more than ${percent(p.most)}.` : ".");
  $("book-caption").textContent = p.releases > p.book.length ? `The ${p.book.length} most frequent of ${plural(p.releases, "released value")}; the codebook in the release has all.` : plural(p.releases, "released value");
  $("book").replaceChildren(...p.book.map(e => element("tr", {}, element("td", {}, e.name), element("td", {className: "number"}, e.share < 0.0005 ? "< 0.1 %" : percent(e.share)),
    element("td", {className: "number"}, count(e.symbols)), element("td", {}, e.means))));
}

// 4. curves: ε stretched near zero, so that small budgets can be told apart
const BOX = {left: 52, right: 408, top: 10, bottom: 210};
function curves(there, p) {
  const most = Math.max(...there.map(q => q.epsilon), ...facts.budgets), x = e => BOX.left + (BOX.right - BOX.left) * Math.sqrt(e / most);
  const a = facts.nothing.guess, b = facts.columns_as_they_are.guess;
  chart("useful", "Information kept (%)", there, p, x, most, q => q.useful, [0, 1], there.every(q => q.most !== null) ? {curve: q => q.most, name: "no release can keep more"} : null, []);
  const room = Math.max(b - a, 0.04), low = Math.max(0, a - 0.25 * room), high = Math.min(1, Math.max(b, ...there.map(q => q.risk.guess)) + 0.25 * room);
  chart("risk", "Right guesses (%)", there, p, x, most, q => q.risk.guess, [low, high], null, [[a, "no release at all"], [b, "columns as they are"]]);
  const said = f => there.map(q => `ε ${short(q.epsilon)}: ${percent(f(q))}`).join("; ");
  $("useful-words").textContent = "Part of the information in the columns that the release keeps, for each privacy budget. " + said(q => q.useful);
  $("risk-words").textContent = `Chance that a guess of the secret is right, for each privacy budget; without a release ${percent(a)}, from the columns as they are ${percent(b)}. ` + said(q => q.risk.guess);
}
function ticks(low, high) {
  const rough = (high - low) / 4, power = 10 ** Math.floor(Math.log10(rough)), each = power * [1, 2, 2.5, 5, 10].find(f => f * power >= rough * 0.999);
  const made = [];
  for (let i = Math.ceil(low / each - 1e-9); i * each <= high + 1e-9; i++) made.push(i * each);
  return made;
}
function chart(id, title, there, p, x, most, value, [low, high], bound, lines) {
  const svg = $(id), parts = [svg.querySelector("title")];
  const y = v => BOX.bottom - (BOX.bottom - BOX.top) * (v - low) / (high - low);
  for (const tick of ticks(low, high)) {
    parts.push(drawn("line", {class: "grid", x1: BOX.left, x2: BOX.right, y1: y(tick), y2: y(tick)}));
    parts.push(drawn("text", {x: BOX.left - 7, y: y(tick) + 4, "text-anchor": "end"}, short(100 * tick)));
  }
  const marks = [0, 0.1, 0.5, 1, 2, 3, 5, 10, 20].filter(e => e <= most * 1.0001);
  let last = -99;
  for (const e of marks) {
    parts.push(drawn("line", {class: "axis", x1: x(e), x2: x(e), y1: BOX.bottom, y2: BOX.bottom + 5}));
    if (x(e) - last > 26) { parts.push(drawn("text", {x: x(e), y: BOX.bottom + 19, "text-anchor": "middle"}, short(e))); last = x(e); }
  }
  parts.push(drawn("line", {class: "axis", x1: BOX.left, x2: BOX.right, y1: BOX.bottom, y2: BOX.bottom}));
  parts.push(drawn("text", {x: (BOX.left + BOX.right) / 2, y: BOX.bottom + 42, "text-anchor": "middle"}, "Privacy budget ε (axis stretched near 0)"));
  parts.push(drawn("text", {transform: `translate(13 ${(BOX.top + BOX.bottom) / 2}) rotate(-90)`, "text-anchor": "middle"}, title));
  for (const [level, name] of lines) {
    parts.push(drawn("line", {class: "reference", x1: BOX.left, x2: BOX.right, y1: y(level), y2: y(level)}));
    const under = level === lines[0][0] && lines.length > 1;
    parts.push(drawn("text", {class: "quiet", x: BOX.right - 2, y: y(level) + (under ? 15 : -6), "text-anchor": "end"}, name));
  }
  const path = f => there.map((q, i) => `${i ? "L" : "M"}${x(q.epsilon).toFixed(1)} ${y(f(q)).toFixed(1)}`).join("");
  const apart = bound && there.some(q => bound.curve(q) - value(q) > 0.01);
  if (apart) {
    parts.push(drawn("path", {class: "reference", fill: "none", d: path(bound.curve)}));
    const end = there[there.length - 1], height = y(bound.curve(end));
    parts.push(drawn("text", {class: "quiet", x: BOX.right - 2, y: height < BOX.top + 16 ? height + 15 : height - 6, "text-anchor": "end"}, bound.name));
  }
  parts.push(drawn("line", {class: "cursor", x1: x(p.epsilon), x2: x(p.epsilon), y1: BOX.top, y2: BOX.bottom}));
  parts.push(drawn("path", {class: id, d: path(value)}));
  for (const q of there) {
    const dot = drawn("circle", {class: id, cx: x(q.epsilon), cy: y(value(q)), r: q === p ? 7 : 4.5});
    dot.append(drawn("title", {}, `ε = ${short(q.epsilon)}: ${percent(value(q))}`));
    dot.addEventListener("click", () => { current = q.epsilon; show(); });
    parts.push(dot);
  }
  svg.replaceChildren(...parts);
}

// 5. what is saved
function save(content, name) {
  const link = element("a", {href: URL.createObjectURL(content), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
const stem = () => table.file.replace(/\.[^.]*$/, "");
const now = () => solved()[Number($("slider").value)];
async function copy_of_release() { save(await (await ask("release", {})).blob(), `${stem()}-release.zip`); }
async function draw() {
  const p = now();
  $("saved").textContent = "Drawing the release …";
  $("export-release").disabled = true; $("drawing").hidden = false;
  try {
    const told = await (await ask("draw", {job, epsilon: p.epsilon})).json();
    await copy_of_release();
    $("saved").textContent = sentence(told);
    table.earlier = told; earlier(told);
  } catch (why) {
    $("saved").textContent = "";
    if (why.status !== 409) throw why;
    $("again-why").textContent = why.message;
    $("again").showModal();
  } finally { $("export-release").disabled = false; $("drawing").hidden = true; }
}
function sentence(d) {
  if (d.again) return d.again;
  const groups = d.smallest && d.unique ? ` As drawn, the smallest group of rows that look alike has ${plural(d.smallest[1], "row")} (${count(d.smallest[0])} as in the file), and ` +
    `${plural(d.unique[1], "row looks", "rows look")} like no other (${count(d.unique[0])} as in the file).` : "";
  return `Drawn into ${d.folder}, and saved as ${stem()}-release.zip: ${plural(d.rows, "row")} with ε = ${short(d.epsilon)}, ${percent(d.useful)} of the information kept.${groups} README.txt in it says what to give away and what to keep.`;
}
async function take_away(route, name) {
  save(await (await ask(route, {job, epsilon: now().epsilon})).blob(), name);
  $("saved").textContent = `Saved as ${name}; keep it in the folder of ${table.file}.`;
}
$("form").addEventListener("submit", event => { event.preventDefault(); begin(); });
$("stop").addEventListener("click", () => attempt(async () => { $("stop").disabled = true; await ask("stop", {job}); }));
$("reread").addEventListener("click", () => read(true));
$("retry").addEventListener("click", () => read(true));
$("slider").addEventListener("input", () => { current = now().epsilon; show(); });
for (const id of ["minimum", "seconds", "missing", "contiguous"]) $(id).addEventListener("input", changed);
$("find").addEventListener("input", () => {
  const part = $("find").value.trim().toLowerCase();
  for (const column of columns) column.row.hidden = !column.use && !column.facts.name.toLowerCase().includes(part);
});
$("least").addEventListener("submit", event => {
  event.preventDefault();
  const wish = Number($("wish").value) / 100, first = solved().find(p => p.useful >= wish - 5e-4);
  if (!first) { complain(`No point of the curve keeps ${percent(wish, 0)}; the most is ${percent(Math.max(...solved().map(p => p.useful)))}. Add a larger ε to the curve.`); return; }
  calm(); current = first.epsilon; show();
});
$("exact").addEventListener("submit", event => {
  event.preventDefault();
  attempt(async () => {
    const epsilon = $("budget").value === "" ? null : Number($("budget").value);
    await ask("add", {job, epsilon}); current = epsilon; show(); watch();
  });
});
$("longer").addEventListener("submit", event => {
  event.preventDefault();
  attempt(async () => { current = now().epsilon; await ask("add", {job, epsilon: current, seconds: Number($("more").value)}); watch(); });
});
$("export-script").addEventListener("click", () => attempt(() => take_away("script", `${stem()}-release.py`)));
$("export-notebook").addEventListener("click", () => attempt(() => take_away("notebook", `${stem()}-release.ipynb`)));
$("export-release").addEventListener("click", () => attempt(draw));
$("earlier-save").addEventListener("click", () => attempt(copy_of_release));
$("again-save").addEventListener("click", () => { $("again").close(); attempt(copy_of_release); });
$("again-no").addEventListener("click", () => $("again").close());
$("copy").addEventListener("click", async () => {
  try { await navigator.clipboard.writeText($("command").textContent); $("copy").textContent = "Copied"; setTimeout(() => $("copy").textContent = "Copy", 2000); }
  catch { getSelection().selectAllChildren($("command")); }
});
read(false);
