#!/usr/bin/env python3
"""Write newer.json: log densities and gradients of programs that need a newer Stan than programs.py has, by the C++ code of
Stan 2.35.

Needs g++ and `pip install httpstan==4.13.0`, whose wheel has the compiler stanc and the headers; half a minute a program.
Each program is evaluated at three points of unconstrained values, `z[i] = 0.8 sin(1.7 i + p) + 0.1`, with the Jacobian; once
as Stan samples it, where `~` drops constants, and once with all constants. `newer.py NAME ...` computes these anew and keeps
the others.
"""
import importlib.util, json, re, subprocess, sys, tempfile
from pathlib import Path

HERE = Path(__file__).parent
STAN = Path(importlib.util.find_spec("httpstan").submodule_search_locations[0])
NAMES = ["arrays_on_the_left", "bessel_functions", "complex_numbers", "complex_transforms", "factors_of_wishart", "hidden_line",
         "large_system", "partial_sums", "parts_of_sparse", "products_of_sums", "singular_vectors", "vector_autoregression", "vectorised_functions"]
MAIN = r"""
#include <stan/model/model_header.hpp>
#include <stan/io/json/json_data.hpp>
#include <stan/model/log_prob_grad.hpp>
#include <iostream>
#include <sstream>
#include <iomanip>
#include "NAME.hpp"
template <bool propto, class M> void show(M& model, std::vector<double> z, const char* kind) {
  std::vector<int> none;
  std::vector<double> gradient;
  double value = stan::model::log_prob_grad<propto, true>(model, z, none, gradient, &std::cerr);
  std::cout << "\"" << kind << "\": {\"value\": " << value << ", \"gradient\": [";
  for (size_t i = 0; i < gradient.size(); ++i) std::cout << (i ? ", " : "") << gradient[i];
  std::cout << "]}";
}
int main() {
  std::istringstream text(R"data(DATA)data");
  stan::json::json_data data(text);
  NAME_namespace::NAME model(data, 1, &std::cerr);
  std::cout << std::setprecision(17) << "[";
  for (int p = 0; p < 3; ++p) {
    std::vector<double> z(model.num_params_r());
    for (size_t i = 0; i < z.size(); ++i) z[i] = 0.8 * std::sin(1.7 * i + p) + 0.1;
    std::cout << (p ? ", {" : "{");
    show<true>(model, z, "dropped");
    std::cout << ", ";
    show<false>(model, z, "kept");
    std::cout << "}";
  }
  std::cout << "]" << std::endl;
}
"""

def reference(name, folder):
    text = (HERE.parent / "programs" / f"{name}.stan").read_text()
    data = re.match(r"// data: (.*)", text).group(1)
    own = f"model_{name}"
    (folder / f"{own}.stan").write_text(text)
    subprocess.run([STAN / "stanc", "--name", own, f"--o={folder / own}.hpp", folder / f"{own}.stan"], check=True)
    (folder / f"{own}.cpp").write_text(MAIN.replace("NAME", own).replace("DATA", data))
    flags = ["-O0", "-w", "-std=c++17", "-D_REENTRANT", "-DBOOST_DISABLE_ASSERTS", "-D_GLIBCXX_USE_CXX11_ABI=0", "-DSTAN_THREADS"]
    libraries = [f"-L{STAN / 'lib'}", "-lsundials_cvodes", "-lsundials_idas", "-lsundials_kinsol", "-lsundials_nvecserial", "-ltbb"]
    command = ["g++", *flags, f"-I{STAN / 'include'}", f"-I{folder}", folder / f"{own}.cpp", "-o", folder / own, *libraries,
               f"-Wl,-rpath,{STAN / 'lib'}"]
    subprocess.run(command, check=True)
    return json.loads(subprocess.run([folder / own], check=True, capture_output=True, text=True).stdout)

def main():
    path = HERE / "newer.json"
    table = json.loads(path.read_text()) if path.exists() else {"stan": "2.35", "programs": {}}
    folder = Path(tempfile.mkdtemp())
    for name in sys.argv[1:] or NAMES:
        table["programs"][name] = reference(name, folder)
        path.write_text(json.dumps(table, indent=0, sort_keys=True) + "\n")
        print(name, file=sys.stderr)

if __name__ == "__main__":
    main()
