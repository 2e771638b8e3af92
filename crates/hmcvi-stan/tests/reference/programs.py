#!/usr/bin/env python3
"""Write programs.json: log densities and gradients of the programs in ../programs by Stan 2.21's own C++ code.

Needs R with rstan 2.21 (Debian: r-cran-rstan), g++ and two minutes. Each program has its data in its first line. It is
evaluated at three points of unconstrained values, `z[i] = 0.8 sin(1.7 i + p) + 0.1`, with the Jacobian; once as Stan
samples it, where `~` drops constants, and once with all constants.
"""
import json, math, re, subprocess, sys, tempfile
from pathlib import Path

HERE = Path(__file__).parent
LIBRARY = Path("/usr/lib/R/site-library")
only = sys.argv[1:]

def older(text):
    """Array declarations as Stan 2.21 has them."""
    declared = r"\barray\[([^\]]*)\]\s*((?:int|real|vector|row_vector|matrix|simplex|ordered|unit_vector|positive_ordered|cov_matrix|corr_matrix|cholesky_factor_corr|cholesky_factor_cov)\b(?:<[^>]*>)?\s*(?:\[[^\]]*\])?)\s*(\w+)"
    def change(found):
        sizes, kind, name = found.groups()
        if set(sizes) <= set(", "):
            return f"{kind}[{sizes}] {name}"
        return f"{kind} {name}[{sizes}]"
    return re.sub(declared, change, text)

def numbers(value):
    """Values of the format of R's dump: column by column."""
    sizes, inner = [], value
    while isinstance(inner, list):
        sizes.append(len(inner))
        inner = inner[0]
    flat = [value] if not sizes else []
    def element(place):
        v = value
        for i in place: v = v[i]
        return v
    if sizes:
        total = math.prod(sizes)
        for at in range(total):
            place = []
            for size in sizes:
                place.append(at % size); at //= size
            flat.append(element(place))
    integer = all(isinstance(v, int) for v in flat)
    return sizes, flat, integer

def main():
    folder = Path(tempfile.mkdtemp())
    programs = sorted(p for p in (HERE.parent / "programs").glob("*.stan") if not only or p.stem in only)
    includes, calls = [], []
    for path in programs:
        text = path.read_text()
        data = json.loads(re.match(r"// data: (.*)", text).group(1))
        (folder / f"{path.stem}.stan").write_text(older(text))
        r = f"""suppressMessages(library(rstan)); x <- stanc("{folder / path.stem}.stan", model_name="{path.stem}");
        writeLines(x$cppcode, "{folder / path.stem}.cpp")"""
        done = subprocess.run(["Rscript", "-e", r], capture_output=True, text=True)
        if done.returncode:
            print(path.stem, done.stderr[-1500:], file=sys.stderr)
            continue
        code = (folder / f"{path.stem}.cpp").read_text()
        space = re.search(r"namespace (\w+_namespace)", code).group(1)
        name = space.removesuffix("_namespace")
        code = code[: code.rindex(f"typedef {space}::")]
        (folder / f"{path.stem}.cpp").write_text(code)
        includes.append(f'#include "{path.stem}.cpp"')
        fill = []
        for key, value in data.items():
            sizes, flat, integer = numbers(value)
            kind = "int" if integer else "double"
            values = ", ".join(map(repr, flat))
            if integer: fill.append(f'c.ints["{key}"] = {{{values}}};')
            fill.append(f'c.reals["{key}"] = {{{values}}}; c.sizes["{key}"] = {{{", ".join(map(str, sizes))}}};')
        calls.append(f"{{ Context c; {' '.join(fill)} try {{ {space}::{name} m(c); show(\"{path.stem}\", m); }} "
                     f"catch (const std::exception& e) {{ std::cerr << \"{path.stem}: \" << e.what() << std::endl; }} }}")
    main = MAIN.replace("INCLUDES", "\n".join(includes)).replace("CALLS", "\n".join(calls))
    (folder / "main.cpp").write_text(main)
    flags = ["-O0", "-w", "-std=c++14", "-DBOOST_DISABLE_ASSERTS", "-DBOOST_PHOENIX_NO_VARIADIC_EXPRESSION", "-D_REENTRANT", "-DSTAN_THREADS"]
    paths = [f"-I{LIBRARY}/{p}" for p in ("StanHeaders/include/src", "StanHeaders/include", "BH/include", "RcppEigen/include", "RcppParallel/include")]
    paths += ["-I/usr/include/eigen3"]
    command = ["g++", *flags, *paths, str(folder / "main.cpp"), "-o", str(folder / "main"), "-ltbb", "-lpthread"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{folder}\n" + done.stderr[-4000:])
    out = subprocess.run([str(folder / "main")], capture_output=True, text=True)
    print(out.stderr, file=sys.stderr)
    target = HERE / "programs.json"
    table = json.loads(target.read_text())["programs"] if only and target.exists() else {}
    for line in out.stdout.splitlines():
        name, value = json.loads(re.sub(r"\binf\b", "Infinity", re.sub(r"\bnan\b", "NaN", line)))
        table[name] = value
    lines = ",\n".join(f'    "{k}": {json.dumps(v)}' for k, v in sorted(table.items()))
    target.write_text('{\n  "version": "Stan 2.21.0 (rstan 2.21.7)",\n  "programs": {\n' + lines + "\n  }\n}\n")

MAIN = r"""
#include <stan/model/model_header.hpp>
#include <stan/model/log_prob_grad.hpp>
#include <iomanip>
INCLUDES
struct Context : stan::io::var_context {
  std::map<std::string, std::vector<int>> ints;
  std::map<std::string, std::vector<double>> reals;
  std::map<std::string, std::vector<size_t>> sizes;
  bool contains_r(const std::string& n) const { return reals.count(n); }
  std::vector<double> vals_r(const std::string& n) const { return reals.count(n) ? reals.at(n) : std::vector<double>(); }
  std::vector<size_t> dims_r(const std::string& n) const { return sizes.count(n) ? sizes.at(n) : std::vector<size_t>(); }
  bool contains_i(const std::string& n) const { return ints.count(n); }
  std::vector<int> vals_i(const std::string& n) const { return ints.count(n) ? ints.at(n) : std::vector<int>(); }
  std::vector<size_t> dims_i(const std::string& n) const { return ints.count(n) ? sizes.at(n) : std::vector<size_t>(); }
  void names_r(std::vector<std::string>& n) const {}
  void names_i(std::vector<std::string>& n) const {}
};
template <bool propto, class M> void one(M& m, std::vector<double>& z) {
  std::vector<int> none; std::vector<double> g;
  double lp = stan::model::log_prob_grad<propto, true>(m, z, none, g, &std::cerr);
  std::cout << "{\"value\": " << lp << ", \"gradient\": [";
  for (size_t i = 0; i < g.size(); ++i) std::cout << (i ? ", " : "") << g[i];
  std::cout << "]}";
}
template <class M> void show(const char* name, M& m) {
  std::ostringstream keep;
  std::cout << std::setprecision(17);
  auto* old = std::cout.rdbuf(keep.rdbuf());
  try {
    std::cout << "[\"" << name << "\", [";
    for (int p = 0; p < 3; ++p) {
      std::vector<double> z(m.num_params_r());
      for (size_t i = 0; i < z.size(); ++i) z[i] = 0.8 * std::sin(1.7 * i + p) + 0.1;
      std::cout << (p ? ", " : "") << "{\"dropped\": "; one<true>(m, z);
      std::cout << ", \"kept\": "; one<false>(m, z);
      std::cout << "}";
    }
    std::cout << "]]";
  } catch (...) { std::cout.rdbuf(old); throw; }
  std::cout.rdbuf(old);
  std::cout << keep.str() << std::endl;
}
int main() {
CALLS
}
"""
main()
