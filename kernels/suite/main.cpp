// qualify-kernels: every operation of the library against its reference (`test`), and its speed (`bench`). One JSON
// object a line on stdout; `qualify kernels` reads them.
#include <cstdio>
#include <exception>
#include <stdexcept>

#include "options.h"

int main(int argc, char** argv) {
  try {
    const suite::Options options = suite::parseOptions(argc, argv);
    return options.command == "test" ? suite::testCommand(options) : suite::benchCommand(options);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "qualify-kernels: %s\n", error.what());
    return suite::exitUsage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "qualify-kernels: %s\n", error.what());
    return 2;
  }
}
