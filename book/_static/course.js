// The menus at the head of a page, which Bootstrap would open with eighty kilobytes.
for (const button of document.querySelectorAll('[data-bs-toggle="dropdown"]')) {
  const menu = button.parentElement;
  const show = (open) => {
    button.classList.toggle("show", open);
    button.setAttribute("aria-expanded", open);
  };
  button.addEventListener("click", () => show(!button.classList.contains("show")));
  document.addEventListener("click", (event) => menu.contains(event.target) || show(false));
  menu.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !menu.contains(event.relatedTarget)) show(false);
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    button.focus();
    show(false);
  });
}

// The button that leads back to the top shows on the way up.
const backToTop = document.getElementById("pst-back-to-top");
if (backToTop) {
  let before = window.scrollY;
  document.addEventListener(
    "scroll",
    () => {
      const up = window.scrollY < before && window.scrollY > 200;
      before = window.scrollY;
      backToTop.style.display = up ? "block" : "none";
    },
    { passive: true },
  );
  backToTop.addEventListener("click", () => window.scrollTo(0, 0));
}

// The theme takes the focus off its switch; whoever came by keyboard keeps it.
for (const button of document.querySelectorAll(".theme-switch-button")) {
  button.addEventListener("click", (event) => event.detail === 0 && button.focus());
}

// A first tap on a word of the glossary tells what it means; a second one leads there.
document.addEventListener("click", (event) => {
  const word = event.target.closest("a.glossary-word");
  const told = document.querySelector(".glossary-word.told");
  told?.classList.remove("told");
  if (!word || word === told || event.pointerType !== "touch") return;
  event.preventDefault();
  word.classList.add("told");
});
