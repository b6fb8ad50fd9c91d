// What both views share: elements without markup from texts, requests, pictures, answers.
export const el = id => document.getElementById(id);

export function make(tag, attributes = {}, ...children) {
  const made = Object.assign(document.createElement(tag), attributes);
  made.append(...children.filter(child => child !== null && child !== undefined));
  return made;
}

export async function ask(path, body, withinMs = 0) {
  const reply = await fetch(path, body === undefined ? (withinMs ? { signal: AbortSignal.timeout(withinMs) } : {}) :
    { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  if (reply.status === 401) { location.replace("/enter"); throw new Error("this page needs its token again"); }
  const data = await reply.json();
  if (!reply.ok) throw new Error(data.error);
  return data;
}

export function tell(text) {
  el("alert").textContent = text;
  el("alert").hidden = !text;
}

// Shows the newest of many pictures: one request at a time, and not more often than everyMs.
export class Picture {
  constructor(image, everyMs, failed = () => {}) {
    Object.assign(this, { image, everyMs, failed, wanted: null, busy: false, shown: null, key: null });
  }

  show(url, key) {
    if (key === this.key) return;
    this.wanted = { url, key };
    if (!this.busy) this.#load();
  }

  async #load() {
    this.busy = true;
    while (this.wanted !== null) {
      const { url, key } = this.wanted;
      this.wanted = null;
      try {
        const reply = await fetch(url);
        if (!reply.ok) throw new Error((await reply.json()).error);
        const next = URL.createObjectURL(await reply.blob());
        this.image.src = next;
        await this.image.decode();
        if (this.shown) URL.revokeObjectURL(this.shown);
        this.shown = next;
        this.key = key;
        this.image.parentElement.classList.add("ready");
      } catch (error) {
        this.failed(error.message);
      }
      await new Promise(done => setTimeout(done, this.everyMs));
    }
    this.busy = false;
  }
}

// A number that the robot could not tell is null.
export const fixed = (number, digits) => number === null ? "?" : number.toFixed(digits);
const percent = share => Math.round(100 * share) + " %";
const when = seconds => seconds > 1e9 ? new Date(1000 * seconds).toLocaleString() : fixed(seconds, 1) + " s";

// A picture with the things outlined that it proves. outlines: in per cent of the picture.
export function shot(url, alt, outlines) {
  const box = make("div", { className: "shot" }, make("img", { src: url, alt, loading: "lazy" }));
  for (const o of outlines) {
    const outline = make("span", { className: "outline" }, make("i", { textContent: o.name }));
    for (const side of ["left", "top", "width", "height"]) outline.style[side] = o[side] + "%";
    box.append(outline);
  }
  return box;
}

// How the question was understood, and its result.
export function answerOf(entry) {
  if (!entry.understood) return resultOf(entry);
  return make("div", {}, make("p", { className: "soft", textContent: "understood: " + entry.understood }), resultOf(entry));
}

// An answer, an honest "I do not know", or an error by its name.
function resultOf(entry) {
  if (entry.error === "CANCELED") return make("p", { className: "answer none", textContent: "Stopped." });
  if (entry.error) {
    return make("div", { className: "error" }, make("b", { textContent: entry.error.replaceAll("_", " ").toLowerCase() }),
      make("span", { textContent: entry.message }),
      entry.answer ? make("span", { textContent: "What was known until then: " + entry.answer }) : null);
  }
  if (entry.abstained) {
    return make("div", {}, make("p", { className: "answer none", textContent: "I do not know." }),
      make("p", { className: "soft", textContent: entry.message }));
  }
  const meter = make("meter", { min: 0, max: 1, low: .5, high: .8, optimum: 1, value: entry.confidence });
  meter.setAttribute("aria-label", "how sure it is");
  return make("div", {}, make("p", { className: "answer", textContent: entry.answer }),
    make("p", { className: "sure" }, meter, make("span", { textContent: percent(entry.confidence) + " sure" }),
      entry.message ? make("span", { className: "soft", textContent: entry.message }) : null),
    entry.shown ? make("p", { className: "soft", textContent: "The robot stands where that was seen from." }) : null);
}

export function proofOf(url, proof) {
  const note = make("figcaption", {}, make("b", { textContent: "Seen: " }), [proof.note, proof.where].filter(Boolean).join(", "),
    make("small", { textContent: `${moment(proof)}, from x ${proof.x} m, y ${proof.y} m, heading ${(proof.heading + 360) % 360}°` }));
  return make("figure", { className: "proof" },
    proof.picture ? shot(url, "evidence: " + proof.note, proof.outlines) : make("p", { className: "soft", textContent: proof.trouble }), note);
}

// In a recording its frame is found again; the clock of a phone says nothing.
const moment = proof => proof.frame < 0 ? `at ${when(proof.seconds)}`
  : `frame ${proof.frame}` + (proof.offset_s === null ? "" : `, ${fixed(proof.offset_s, 2)} s into the bag`);

// drives: whether there is a robot, whose steps count.
export function costOf(cost) {
  const parts = [...(cost.way ? [cost.way] : []), `${fixed(cost.seconds, 1)} s`];
  if (cost.calls) parts.push(`${cost.calls} model call${cost.calls === 1 ? "" : "s"}`, `${cost.tokens} tokens`);
  if (cost.money) parts.push(`${cost.money.toPrecision(3)} by the model's prices`);
  const line = make("p", { className: "cost", textContent: parts.join(" · ") });
  if (cost.privileged.length) {
    line.append(make("span", { textContent: " · privileged: " + cost.privileged.join(", "),
                               title: "facts of the simulator that no robot has" }));
  }
  return line;
}

const sum = (tokens, money) => `${tokens} tokens` + (money ? ` · ${money.toPrecision(2)} by the model's prices` : "");

// What the model said last: its pictures with the numbers of options, its words, its answer so far, where the robot went.
export function callOf(call) {
  const pictures = call.pictures.map(p => make("figure", { className: p.proves ? "proves" : "" },
    p.kept ? make("img", { src: `/live/call/${call.n}/${p.k}.jpg`, alt: `picture ${p.k + 1} that the model was shown` })
      : make("p", { className: "unkept", textContent: "a view from before this page" }),
    make("figcaption", {}, String(p.k + 1), p.now ? make("b", { textContent: " · where it stands" }) : null, p.note ? " · " + p.note : null)));
  const options = call.options.map(o => make("li", { className: o.went ? "went" : "" }, make("b", o.number ? { textContent: o.number } : { textContent: "+", title: "no number marked it" }),
    [o.kind, o.room].filter(Boolean).join(", "), make("meter", { min: 0, max: 1, value: o.weight ?? 0, title: `weight ${fixed(o.weight, 2)}` }),
    o.went ? make("em", { textContent: "the robot goes here" }) : null));
  if (call.went) options.push(make("li", { className: "went" }, make("em", { textContent: call.offered ? "the robot goes elsewhere" : "then" }), call.went));
  const verdict = make("p", { className: "verdict" }, call.answer ? (call.title === "Answers" ? "Answer: " : "Answer so far: ") : "No answer yet.",
    call.answer ? make("b", { textContent: call.answer }) : null, call.answer ? `, ${percent(call.confidence)} sure.` : null,
    call.missing ? " Missing: " : null, call.missing ? make("b", { textContent: call.missing }) : null);
  return [make("div", { className: "head" }, make("h2", {}, make("b", { textContent: call.n }), "What the model said"),
      make("span", { textContent: `${call.title.toLowerCase()} · ${call.count} picture${call.count === 1 ? "" : "s"} · ${sum(call.tokens, call.money)} · ${fixed(call.seconds, 1)} s` })),
    pictures.length ? make("div", { className: "shots" }, ...pictures) : null,
    call.error ? make("p", { className: "error", textContent: call.error }) : null,
    call.reasons ? make("blockquote", { textContent: call.reasons }) : null, call.error ? null : verdict,
    options.length ? make("ul", { className: "options" }, ...options) : null,
    make("p", { className: "cost", textContent: `so far ${call.n} call${call.n === 1 ? "" : "s"} · ${call.all.pictures} picture${call.all.pictures === 1 ? "" : "s"} · ${sum(call.all.tokens, call.all.money)}` })]
    .filter(Boolean);
}

export function goalsInto(list, goals) {
  list.replaceChildren(...goals.map(goal => {
    const item = make("li", {}, make("b", { textContent: goal.n }), make("span", { textContent: goal.reason }));
    item.dataset.n = goal.n;
    return item;
  }));
}
