// The view of one problem, drawn again when its state changes; what people press.
const PANELS = 6;
let turns = 0;

function figure(host, name, title, note, after, work) {
  const box = document.createElement("figure");
  box.dataset.name = name;
  box.innerHTML = `<header><h3 title="${escaped(title)}">${escaped(title)}${note ? `<small>${escaped(note)}</small>` : ""}</h3>${saver("figure", title)}</header>${after}<div class="plot" tabindex="0" role="img" aria-label="${escaped(title)}"></div><figcaption></figcaption>`;
  box.draw = () => work($(".plot", box), $("figcaption", box));
  host.append(box);
  return box;
}

function heading(view) {
  const { words } = view;
  for (const tab of $$("[role=tab]")) {
    const on = tab.dataset.problem === view.kind;
    tab.setAttribute("aria-selected", on);
    tab.tabIndex = on ? 0 : -1;
    if (on) tab.parentElement.scrollTo({ left: tab.offsetLeft - 40 });
  }
  $("#panel").setAttribute("aria-labelledby", `tab-${words.place}`);
  $("#problem").textContent = words.title;
  $("#asks").innerHTML = `${code(words.name)}${words.asks ? ` · ${escaped(words.asks)}` : ""}`;
  $("#finding").innerHTML = finding(view);
  for (const button of $$("[data-measure]")) button.setAttribute("aria-pressed", button.dataset.measure === state.measure);
  const swatch = (line) => `<svg viewBox="0 0 26 10" aria-hidden="true">${line}</svg>`;
  const part = (name) => (view.words.named.includes(name) ? " · best" : name === words.reference ? " · simple method" : "");
  $("#legend").innerHTML = [...view.look].map(([name, k]) => `<span>${swatch(`<path d="M0 5H26" stroke="var(--s${k})" stroke-width="2.6" stroke-dasharray="${DASH[k]}"/>`)}<code>${escaped(name)}</code>${part(name)}</span>`).join("") +
    `<span>${swatch(`<path d="M0 5H26" stroke="var(--grey)" stroke-width="1.6"/>`)}other solvers</span>` + (state.measure === "value" ? `<span>${swatch(`<rect y="2" width="26" height="8" fill="var(--grey)" opacity=".35"/><path d="M0 2H26" stroke="var(--faint)" stroke-dasharray="4 3"/>`)}proved bound; shaded: still open</span>` : "");
}

function note(view) {
  if (state.measure === "short") return "Distance to the best proved bound, or to the best answer where nothing bounds it; lower is better. What is at 1e−9 is at the bound.";
  const kinds = new Set(view.instances.map(measures));
  const said = kinds.size > 1 ? "" : `${measures(view.instances[0])} `;
  const bars = view.solvers.some((s) => s.good.some((row) => row.spread)) ? " Points are medians, bars the quartiles of the repetitions." : "";
  return `${said}Only certified answers are drawn.${bars}`;
}

// What an instance measures, and which way is better.
function measures(instance) {
  const name = axisName({ ...instance });
  return `${name[0].toUpperCase()}${name.slice(1)}, by budget: ${instance.sign > 0 ? "higher" : "lower"} is better.`;
}

const SWITCHES = `<div class="tools"><div class="switch" role="group" aria-label="Counts as an answer">${[["best", "best"], ["one", "within 1 %"], ["ten", "within 10 %"]].map(([name, said]) => `<button type="button" data-within="${name}">${said}</button>`).join("")}</div><div class="switch" role="group" aria-label="Time">${[["ratio", "× the fastest"], ["seconds", "seconds"]].map(([name, said]) => `<button type="button" data-axis="${name}">${said}</button>`).join("")}</div></div>`;

function frames(view) {
  const [fronts, fast] = [$("#frontiers"), $("#speed")];
  for (const box of $$(".plot")) box.view?.finalize();
  fronts.replaceChildren();
  fast.replaceChildren();
  const some = state.all ? view.instances : view.instances.slice(0, PANELS);
  const all = some.map((i) => figure(fronts, `${slug(i.name)}-frontier`, i.title, i.note, "", (box) => frontier(view, i, box)));
  some.forEach((i, at) => $(".plot", all[at]).setAttribute("aria-label", `${i.title}: ${axisName(i)} by ${i.budgetName}. Arrow keys read the values; the table below holds them all.`));
  if (state.measure === "value" && new Set(view.instances.map(measures)).size > 1) some.forEach((i, at) => { $("figcaption", all[at]).textContent = measures(i); });
  if (some.length < view.instances.length) fronts.insertAdjacentHTML("beforeend", `<button type="button" class="button" data-all>Show all ${view.instances.length} instances</button>`);
  all.push(figure(fast, "fast-and-good", "Fast and good", "a dot a solver", "", speed.bind(null, view)));
  $("figcaption", all.at(-1)).textContent = "Left is faster, up is better: median seconds against the mean loss to the best. A hollow dot leaves cases unanswered; the steps join the undominated that answer all.";
  if (view.cases.length >= ENOUGH) all.push(figure(fast, "profile", "How often, how soon", "performance profile", SWITCHES, (box, caption) => staircase(view, box, caption)));
  else fast.insertAdjacentHTML("beforeend", `<div><h3>How often, how soon</h3><p class="note" id="few">Only ${view.cases.length} ${view.cases.length === 1 ? "case" : "cases"}: too few for a profile, which needs ${ENOUGH}. The table above says all there is.</p></div>`);
  if (telling(view).size) all.push(figure(fast, "as-time-goes", "As time goes", "what solvers told", CHOICE(view), anytime.bind(null, view)));
  for (const family of families(view)) {
    const one = figure(fast, `${slug(family)}-cost`, "Cost by size", family, "", (box) => cost(view, family, box));
    $("figcaption", one).textContent = "Seconds of the finished runs; n^p is the power of the size that fits them. Lower is faster.";
    all.push(one);
  }
  return all;
}

// Text and table at once, figures one after the other; a later call ends an earlier one.
async function draw() {
  const mine = ++turns;
  root.dataset.drawn = "no";
  hush();
  if (!problems.size) { root.dataset.drawn = "yes"; return; }
  const view = model(state.problem);
  heading(view);
  heat(view);
  $("[data-everyone]").hidden = !state.hide.size;
  $("#frontier-note").textContent = drawable ? note(view) : data.missing;
  for (const figure of drawable ? frames(view) : []) {
    if (mine !== turns) return;
    for (const button of $$("[data-within]")) button.setAttribute("aria-pressed", WITHIN[button.dataset.within] === state.within);
    for (const button of $$("[data-axis]")) button.setAttribute("aria-pressed", button.dataset.axis === state.axis);
    await figure.draw();
  }
  if (mine === turns) root.dataset.drawn = "yes";
}

function press(target, attribute, work) {
  const button = target.closest(`[data-${attribute}]`);
  if (button) work(button.dataset[attribute], button);
  return Boolean(button);
}

async function again(focus) {
  remember();
  const drawn = draw();
  if (focus) $(focus)?.focus({ preventScroll: true });
  await drawn;
}

document.addEventListener("click", (event) => {
  const { target } = event;
  for (const menu of $$(".save[open]")) if (!menu.contains(target)) menu.open = false;
  press(target, "problem", (kind, link) => {
    event.preventDefault();
    choose(kind);
    remember(true);
    draw();
    if (link.tagName === "A") $("#view").scrollIntoView();
  });
  press(target, "measure", (name) => { state.measure = name; again(); });
  press(target, "hide", (name) => { state.hide.has(name) ? state.hide.delete(name) : state.hide.add(name); again(`[data-hide="${CSS.escape(name)}"]`); });
  press(target, "only", (name) => { state.hide = new Set(model(state.problem).solvers.map((s) => s.name).filter((s) => s !== name)); again(`[data-only="${CSS.escape(name)}"]`); });
  press(target, "everyone", () => { state.hide.clear(); again(); });
  press(target, "within", (name) => { state.within = WITHIN[name]; again(`[data-within=${name}]`); });
  press(target, "axis", (name) => { state.axis = name; again(`[data-axis=${name}]`); });
  press(target, "open", (name) => { state.open.has(name) ? state.open.delete(name) : state.open.add(name); heat(model(state.problem)); $(`[data-open="${CSS.escape(name)}"]`).focus(); });
  press(target, "beside", () => $("#other").click());
  press(target, "alone", alone);
  press(target, "all", () => { state.all = true; draw(); });
  press(target, "why", (kind) => why(kind));
  press(target, "save", (_, button) => save(button));
  const cell = target.closest("td[data-row]");
  if (cell && event.pointerType !== "mouse") show(told(cell), event.clientX, event.clientY);
});

$("#other")?.addEventListener("change", ({ target }) => {
  if (target.files.length) compare(target.files[0]);
  target.value = "";
});

document.addEventListener("keydown", (event) => {
  const tab = event.target.closest?.("[role=tab]");
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!tab || !step) return;
  const tabs = $$("[role=tab]");
  const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
  event.preventDefault();
  next.focus();
  next.click();
});

// A bare address of a part opens it; the other addresses bring a state back.
function arrive() {
  const name = location.hash.slice(1).split("&")[0];
  const part = name && !name.includes("=") && document.getElementById(name);
  if (!part) { restore(); return false; }
  if (problems.size && !turns) draw().then(() => part.scrollIntoView());
  const folded = part.closest("details");
  if (folded) { folded.open = true; folded.build?.(); }
  part.scrollIntoView();
  return true;
}

addEventListener("hashchange", () => { if (!arrive()) draw(); });
for (const link of $$('.bar nav a, .alarm a')) link.addEventListener("click", () => setTimeout(arrive));
let [broad, wait] = [innerWidth, 0];
addEventListener("resize", () => {
  if (innerWidth === broad) return;
  broad = innerWidth;
  clearTimeout(wait);
  wait = setTimeout(draw, 120);
});

$("#view")?.removeAttribute("hidden");
if (problems.size) $("#table-save").innerHTML = saver("table", "the table");
const arrived = arrive();
if (state.run) { $("#runs").open = true; $("#runs").build(); }
if (!problems.size) draw();
else if (!arrived && location.hash.includes("problem=")) {
  draw();
  $(state.run ? "#runs" : "#view").scrollIntoView();
} else if (!arrived) {
  const near = new IntersectionObserver((seen) => { if (seen.some((one) => one.isIntersecting)) { near.disconnect(); draw(); } }, { rootMargin: "600px" });
  near.observe($("#view"));
}
