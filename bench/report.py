"""Reports of the measurements: JSON, a Markdown table and a plot for each processor, and
the table of all of them in the README. Ratios say how many times faster attnc is."""

import glob
import json
import os
import re
import statistics

import ours

HERE = os.path.dirname(os.path.abspath(__file__))
WRONG = ("† not the same work: its result is further from float64 than twice a plain computation "
         "(PyTorch has no softcap and is timed without).")
README = os.path.join(os.path.dirname(HERE), "README.md")
RESULTS = os.path.join(HERE, "results")


def ratio(row, name, figure="min_ms"):
    return row["implementations"][name][figure] / row["implementations"][ours.NAME][figure]


def line(row):
    """One row in words."""
    texts = [f"{name} {figures['min_ms']:.3f} ms" + ("" if figures["right"] else f" WRONG ({figures['max_error']:.1e})")
             for name, figures in row["implementations"].items()]
    return "  " + ", ".join(texts)


def all_right(results):
    """True if none of our own results is further from float64 than allowed."""
    return all(row["implementations"][ours.NAME]["right"] for row in results["rows"] + results["lengths"])


def is_f32(row):
    return row.get("element", "f32") == "f32"


def short_elements(results):
    """How many times faster rows of 16-bit elements are than the same in float32."""
    wide = {row["case"]: row["implementations"][ours.NAME]["min_ms"] for row in results["rows"]}
    lines = []
    for row in results["rows"]:
        same = row["case"].removesuffix(" " + row.get("element", "f32"))
        if not is_f32(row) and same in wide:
            speed = wide[same] / row["implementations"][ours.NAME]["min_ms"]
            lines.append(f"{row['case']}: {speed:.2f}")
    return "Speed beside float32: " + "; ".join(lines) + ".\n" if lines else ""


def masks(results):
    """What masks cost beside the work that they leave: the shares of another row's time."""
    rows = {row["case"]: row["implementations"][ours.NAME] for row in results["rows"]}
    texts = []
    for mask, other in (("4 sinks and causal window 256 ", "causal window 256 "), ("6 % of blocks ", "")):
        for case in rows:
            if case.startswith(mask) and (beside := other + case.removeprefix(mask)) in rows:
                share = rows[case]["min_ms"] / rows[beside]["min_ms"]
                texts.append(f"{case} {share:.3f} of {beside}")
    for case, mine in rows.items():
        whole = "(" + case.partition("(")[2]
        if case.startswith("documents") and whole in rows:
            texts.append(f"{case} {rows[whole]['gflops'] / mine['gflops']:.2f} of its visible work at the speed of {whole}")
    return "Time of masks: " + "; ".join(texts) + ".\n" if texts else ""


def significant(milliseconds):
    return f"{milliseconds:.3g}" if milliseconds < 100 else f"{milliseconds:.0f}"


def cell(row, name):
    """A peer's ratio of minimum times, with the ratio of medians in brackets."""
    if name not in row["implementations"]:
        return ""
    dagger = "" if row["implementations"][name]["right"] else "†"
    return f"{ratio(row, name):.2f} ({ratio(row, name, 'median_ms'):.2f}){dagger}"


def geometric_mean(results, name):
    """The mean of a peer's ratios over attention rows in float32, or None if it ran none of them."""
    ratios = [ratio(row, name) for row in results["rows"]
              if row["kind"] == "Attention" and is_f32(row) and name in row["implementations"]]
    return statistics.geometric_mean(ratios) if ratios else None


def markdown(results):
    names = list(results["peers"])
    head = ["work", "ms", "GFLOP/s"] + [f"{name} / attnc" for name in names]
    lines = [f"{results['date']}, {results['machine']}, one core, float32 unless a row says otherwise; sizes are (batch, heads, len, head_dim). "
             "GFLOP/s counts visible keys alone. A column gives the ratio of the other's shortest time to ours, with the ratio of medians in brackets.", "",
             "| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    for row in results["rows"]:
        mine = row["implementations"][ours.NAME]
        cells = [row["case"], significant(mine["min_ms"]), f"{mine['gflops']:.0f}"]
        lines.append("| " + " | ".join(cells + [cell(row, name) for name in names]) + " |")
    means = [geometric_mean(results, name) for name in names]
    cells = [f"{mean:.2f}" if mean else "" for mean in means]
    lines.append("| " + " | ".join(["**geometric mean of attention**", "", ""] + cells) + " |")
    versions = ", ".join(f"{name} {version}" for name, version in results["peers"].items())
    lines += ["", f"Beside attnc: {versions or 'nothing'}. A mean is over the rows that the peer took part in; "
              f"PyTorch, ONNX Runtime and OpenVINO get masks other than causal, and biases, as dense tensors. {WRONG}"]
    for text in filter(None, (short_elements(results), masks(results))):
        lines += ["", text.rstrip()]
    return "\n".join(lines) + "\n"


def facts(results):
    """Measurements without a peer, as a table."""
    if not results["facts"]:
        return ""
    lines = ["| measured once | found | bound |", "|---|---|---|"]
    lines += [f"| {fact['fact']} | {fact['text']} | {fact['bound']} |" for fact in results["facts"]]
    lines += ["", "Times to compile are CPU time. Two threads are timed by the clock, other calls by thread CPU time."]
    return "\n".join(lines) + "\n"


def replace_between(text, name, content):
    """The text with the content between the markers `name` replaced."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    return re.sub(f"(?s)(?<={re.escape(begin)}\n).*(?={re.escape(end)})", lambda _: content, text)


def read_all():
    """The results of every processor, by name of file."""
    every = {}
    for path in sorted(glob.glob(os.path.join(RESULTS, "cpu-*.json"))):
        with open(path) as file:
            every[os.path.splitext(os.path.basename(path))[0]] = json.load(file)
    return every


def best_cell(results, case):
    """Our time, and the ratio of the nearest peer; daggers as in the processor's own table."""
    row = next((row for row in results["rows"] if row["case"] == case), None)
    if not row:
        return ""
    time = significant(row["implementations"][ours.NAME]["min_ms"])
    nearest = min((name for name in results["peers"] if name in row["implementations"]),
                  key=lambda name: ratio(row, name), default=None)
    if not nearest:
        return time
    dagger = "" if row["implementations"][nearest]["right"] else "†"
    return f"{time} ({ratio(row, nearest):.2f}{dagger} {nearest})"


def overview(every):
    """A column for each processor."""
    cases = dict.fromkeys(row["case"] for results in every.values() for row in results["rows"])
    peers = dict.fromkeys(name for results in every.values() for name in results["peers"])
    heads = [f"[{results['machine']}, {results['date']}](bench/results/{stem}.md) ([plot](bench/results/{stem}.png))"
             for stem, results in every.items()]
    lines = ["Milliseconds of one core, float32 unless a row says otherwise; sizes are (batch, heads, len, head_dim). In brackets "
             "the nearest peer's shortest time beside ours.", "",
             "| work | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(every)]
    lines += ["| " + " | ".join([case] + [best_cell(results, case) for results in every.values()]) + " |" for case in cases]
    for name in peers:
        means = [geometric_mean(results, name) for results in every.values()]
        cells = [f"**{mean:.2f}**" if mean else "" for mean in means]
        lines.append("| " + " | ".join([f"**{name} / attnc, geometric mean of attention**"] + cells) + " |")
    return "\n".join(lines + ["", WRONG]) + "\n"


def update(path, name, content):
    """Replaces what a document has between the markers `name`."""
    with open(path) as file:
        text = file.read()
    with open(path, "w") as file:
        file.write(replace_between(text, name, "\n" + content + "\n"))


def update_readme():
    update(README, "bench", overview(read_all()))


def plot(results, path):
    """Ratio per shape, and time against length."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    height = max(7, 2 + 0.27 * len(results["rows"]))
    figure, (shapes, lengths) = pyplot.subplots(
        1, 2, figsize=(14.5, height), layout="constrained", width_ratios=[1.15, 1])
    plot_ratios(shapes, results)
    plot_lengths(lengths, results["lengths"])
    figure.suptitle(f"{results['machine']}, one core, float32, {results['date']}")
    figure.savefig(path, dpi=90)


def plain_axes(axes):
    """Powers without exponents, and no frame where there is no axis."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)


def plot_ratios(axes, results):
    """A line for each row, from the nearest peer to the furthest, and a mark for each of them."""
    rows, names = results["rows"], list(results["peers"])
    for place, row in enumerate(rows):
        ratios = [ratio(row, name) for name in names if name in row["implementations"]]
        if ratios:
            axes.plot([1, max(ratios)], [place, place], color="lightgray", linewidth=1.5, zorder=1)
    for marker, name in zip("osD^vP*", names):
        points = [(ratio(row, name), i) for i, row in enumerate(rows) if name in row["implementations"]]
        if points:
            axes.scatter(*zip(*points), marker=marker, s=34, label=name, alpha=0.85, zorder=2)
    axes.axvline(1, color="black", linewidth=1)
    axes.set(xscale="log", xlabel="their time / attnc's", title="Ratio per shape (right of the line: attnc is faster)")
    plain_axes(axes)
    axes.set_xticks([0.5, 1, 2, 5, 10, 20, 50, 100], minor=False)
    axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_yticks(range(len(rows)), [row["case"] for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.legend(loc="lower right")


def plot_lengths(axes, rows):
    """A line for each mask and implementation; the length is the third size."""
    lines = {}
    for row in rows:
        mask, sizes = re.fullmatch(r"(.*?)\s*\((.*)\)", row["case"]).groups()
        for name, figures in row["implementations"].items():
            lines.setdefault((mask or "full", name), []).append((int(sizes.split(",")[2]), figures["min_ms"]))
    colors = {mask: f"C{number}" for number, mask in enumerate(dict.fromkeys(mask for mask, _ in lines))}
    for (mask, name), points in lines.items():
        style = "o-" if name == ours.NAME else "x--"
        axes.plot(*zip(*points), style, color=colors[mask], markersize=5, label=f"{mask}, {name}")
    axes.set(xlabel="length", ylabel="milliseconds", title="Time against length, one head of 64")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    plain_axes(axes)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.tick_params(axis="x", rotation=30)
    axes.legend()


def write_json(results, path):
    with open(path, "w") as file:
        json.dump(results, file, indent=1)


def write(results, name):
    os.makedirs(RESULTS, exist_ok=True)
    write_json(results, os.path.join(RESULTS, name + ".json"))
    with open(os.path.join(RESULTS, name + ".md"), "w") as file:
        file.write(markdown(results) + "\n" + facts(results))
    update_readme()
    try:
        plot(results, os.path.join(RESULTS, name + ".png"))
    except ImportError as error:
        print(f"no plot: {error}")
