const alert = document.getElementById("alert");

async function enter(token) {
  const reply = await fetch("/enter", { method: "POST", headers: { "Content-Type": "application/json" },
                                        body: JSON.stringify({ token }) });
  if (reply.ok) { location.replace("/"); return; }
  alert.textContent = (await reply.json()).error;
  alert.hidden = false;
}

document.getElementById("enter").addEventListener("submit", event => {
  event.preventDefault();
  enter(document.getElementById("token").value.trim());
});

const given = location.hash.slice(1);
if (given) {
  history.replaceState(null, "", "/enter");  // the token stays in no list of visited pages
  enter(given);
} else if ((await fetch("/", { redirect: "manual" })).ok) {
  location.replace("/");  // a link on another page led here: this browser has entered before
}
