"use strict";
const el = id => document.getElementById(id);
const POLL_MS = 700;
let state = null, shown = 0, marked = new Set(), busy = false, over = false;

async function ask(path, body) {
  const options = body ? { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) } : {};
  const reply = await fetch("/" + path, options);
  const data = await reply.json();
  if (!reply.ok) throw new Error(data.error);
  return data;
}

function tell(text) {
  el("message").textContent = text;
  el("message").hidden = !text;
}

async function refresh() {
  try {
    take(await ask("state"));
    tell("");
  } catch (error) {
    tell(error instanceof TypeError ? "The run cannot be reached: it has ended, or was interrupted. What was answered is saved."
      : error.message);
  }
  if (!over) setTimeout(refresh, POLL_MS);
}

function take(next) {
  if (next.over) {
    over = true;
    document.querySelector("main").hidden = true;
    el("question").textContent = "That was the last question. Thank you; this page can be closed.";
    el("progress").textContent = next.done + " of " + next.total + (state && state.kind === "write" ? " histories" : " answered");
    el("cost").textContent = "";
    return;
  }
  if (next.answered) {
    document.querySelector("main").hidden = true;
    el("question").textContent = "Saved. What comes next is being prepared; a long history takes a while";
    return;
  }
  const fresh = !state || state.id !== next.id, more = !fresh && next.views > state.views;
  state = next;
  if (fresh) begin();
  const drive = state.kind === "drive", task = state.kind === "task", write = state.kind === "write";
  if (fresh || more) {
    look(drive || task ? state.views - 1 : 0);
    if (task) offer();
    if (write) draft();
  }
  if (write) list();
  el("progress").textContent = (write ? "history " : "question ") + (state.done + 1) + " of " + state.total;
  el("cost").textContent = task ? state.steps + " of " + state.max_steps + " steps" : drive ? state.steps + (state.max_steps ? " of " + state.max_steps : "") + " steps, "
    + state.metres.toFixed(1) + " m" : "";
  if (drive && el("map").getAttribute("src") !== state.map) el("map").src = state.map;
  const spent = drive && state.max_steps > 0 && state.steps >= state.max_steps;
  document.querySelectorAll("[data-action]").forEach(button => { button.disabled = spent; });
  if (drive && state.collided && more) tell("Something is in the way.");
}

function begin() {
  marked = new Set();
  document.querySelector("main").hidden = false;
  el("question").textContent = state.question;
  el("drive").hidden = state.kind !== "drive";
  el("task").hidden = state.kind !== "task";
  el("write").hidden = state.kind !== "write";
  el("answer").hidden = el("mark").hidden = el("marked").hidden = state.kind === "task" || state.kind === "write";
  document.querySelector("main").classList.toggle("history", state.kind === "history" || state.kind === "write");
  el("text").value = "";
  el("confidence").value = 80;
  sure();
  el("free").hidden = state.choices.length > 0;
  el("choices").replaceChildren(...state.choices.map(choice => {
    const label = document.createElement("label"), radio = document.createElement("input");
    Object.assign(radio, { type: "radio", name: "choice", value: choice });
    label.append(radio, choice);
    return label;
  }));
  el("keys").textContent = state.kind === "drive"
    ? "Keys: arrows drive, page up and page down look up and down, m marks the view."
    : "Keys: left and right arrow show other views, m marks the view.";
  scrollTo(0, 0);
}

function offer() {
  const [action, feedback] = state.last;
  el("last").textContent = action ? action + ": " + feedback : "Choose one option at each step.";
  el("options").replaceChildren(...state.options.map((text, index) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.addEventListener("click", () => send("act", { step: state.steps, option: index + 1 }));
    return button;
  }));
}

const FIELDS = ["asked", "right", "category"], stored = () => "draft " + state.id;

function draft() {
  el("category").replaceChildren(...Object.keys(state.categories).map(name => new Option(name)));
  const kept = JSON.parse(localStorage.getItem(stored()) || "{}");
  FIELDS.forEach(name => { if (name in kept || name !== "category") el(name).value = kept[name] || ""; });
  meant();
}

function meant() { el("meant").textContent = state.categories[el("category").value]; }

function keep() {
  localStorage.setItem(stored(), JSON.stringify(Object.fromEntries(FIELDS.map(name => [name, el(name).value]))));
  meant();
}

function list() {
  el("written").replaceChildren(...state.written.map(one => {
    const item = document.createElement("li"), button = document.createElement("button");
    button.type = "button";
    button.textContent = "Withdraw";
    button.addEventListener("click", () => send("withdraw", { question_id: one.question_id }));
    item.append(one.question + " " + one.answer + " (" + one.category + ") ", button);
    return item;
  }));
}

async function save() {
  const before = state.written.length, [question, answer] = [el("asked").value, el("right").value];
  await send("write", { question, answer, category: el("category").value });
  if (state.written.length === before || el("asked").value !== question || el("right").value !== answer) return;
  el("asked").value = el("right").value = "";
  keep();
  el("asked").focus();
}

function look(number) {
  shown = Math.min(Math.max(number, 0), state.views - 1);
  el("view").src = "/view/" + shown + ".jpg?" + encodeURIComponent(state.id);
  el("slider").max = state.views - 1;
  el("slider").value = shown;
  el("number").textContent = (shown + 1) + " of " + state.views;
  marks();
}

function marks() {
  el("mark").setAttribute("aria-pressed", marked.has(shown));
  const numbers = [...marked].sort((a, b) => a - b).map(n => n + 1);
  el("marked").textContent = numbers.length ? "marked: " + numbers.join(", ")
    : state.kind === "drive" ? "nothing marked: the last view counts as proof"
      : "nothing marked: the view that you see counts as proof";
}

function mark() {
  if (!marked.delete(shown)) {
    if (marked.size === 3) { tell("Three views at most prove an answer: take one off first."); return; }
    marked.add(shown);
  }
  marks();
}

function sure() { el("sure").textContent = el("confidence").value + " %"; }

async function send(path, body) {
  if (busy || !state) return;
  busy = true;
  try {
    tell("");
    take(await ask(path, { id: state.id, ...body }));
  } catch (error) {
    tell(error.message);
  } finally {
    busy = false;
  }
}

const act = action => send("act", { action, step: state.steps });

function answer(abstain) {
  const chosen = document.querySelector("#choices input:checked");
  const text = state.choices.length ? (chosen ? chosen.value : "") : el("text").value;
  if (!abstain && !text.trim()) { tell("Write or choose an answer, or say that you cannot tell."); el("text").focus(); return; }
  send("answer", { text: abstain ? "" : text, abstain, confidence: abstain ? 0 : el("confidence").value / 100,
                   marked: marked.size || state.kind === "drive" ? [...marked] : [shown] });
}

el("slider").addEventListener("input", () => look(Number(el("slider").value)));
el("earlier").addEventListener("click", () => look(shown - 1));
el("later").addEventListener("click", () => look(shown + 1));
el("now").addEventListener("click", () => look(state.views - 1));
el("mark").addEventListener("click", mark);
el("confidence").addEventListener("input", sure);
el("cannot").addEventListener("click", () => answer(true));
el("answer").addEventListener("submit", event => { event.preventDefault(); answer(false); });
el("write").addEventListener("input", keep);
el("write").addEventListener("submit", event => { event.preventDefault(); save(); });
el("next").addEventListener("click", () => send("next", {}));
document.querySelectorAll("[data-action]").forEach(button =>
  button.addEventListener("click", () => act(button.dataset.action)));
document.addEventListener("keydown", event => {
  if (!state || over || event.target.matches("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  const drive = { ArrowUp: "forward", ArrowLeft: "left", ArrowRight: "right", PageUp: "up", PageDown: "down" };
  if (event.key === "m" && !el("mark").hidden) mark();
  else if (state.kind === "drive" && drive[event.key]) act(drive[event.key]);
  else if (state.kind !== "drive" && event.key === "ArrowLeft") look(shown - 1);
  else if (state.kind !== "drive" && event.key === "ArrowRight") look(shown + 1);
  else return;
  event.preventDefault();
});
refresh();
