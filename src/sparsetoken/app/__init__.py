"""The explorer: a JSON service on this machine, and a page that asks it while a slider moves."""
