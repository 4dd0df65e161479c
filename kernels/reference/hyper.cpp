// Owns the fp64 form of hyper-connections.
#include "qk/hyper.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace qk::reference {

namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// m = (fn . X) / sqrt(mean(X^2) + eps), X the streams one after the other.
std::vector<double> project(const HyperSite& site, std::int64_t rows, const double* h) {
  const std::int64_t n = site.streams * site.hidden;
  double squares = 0;
  for (std::int64_t i = 0; i < n; ++i) squares += h[i] * h[i];
  const double r = 1 / std::sqrt(squares / static_cast<double>(n) + site.rmsEps);
  std::vector<double> m;
  for (std::int64_t row = 0; row < rows; ++row) {
    double total = 0;
    for (std::int64_t i = 0; i < n; ++i) total += site.fn[row * n + i] * h[i];
    m.push_back(total * r);
  }
  return m;
}

void reduce(const HyperSite& site, const std::vector<double>& m, const double* h, double* u) {
  std::fill(u, u + site.hidden, 0.0);
  for (std::int64_t i = 0; i < site.streams; ++i) {
    const double pre =
        sigmoid(m[static_cast<std::size_t>(i)] * site.scale[0] + site.base[i]) + site.hyperEps;
    for (std::int64_t d = 0; d < site.hidden; ++d) u[d] += pre * h[i * site.hidden + d];
  }
}

void normaliseRows(double* c, std::int64_t n, double eps) {
  for (std::int64_t i = 0; i < n; ++i) {
    double total = eps;
    for (std::int64_t j = 0; j < n; ++j) total += c[i * n + j];
    for (std::int64_t j = 0; j < n; ++j) c[i * n + j] /= total;
  }
}

void normaliseColumns(double* c, std::int64_t n, double eps) {
  for (std::int64_t j = 0; j < n; ++j) {
    double total = eps;
    for (std::int64_t i = 0; i < n; ++i) total += c[i * n + j];
    for (std::int64_t i = 0; i < n; ++i) c[i * n + j] /= total;
  }
}

}  // namespace

void hyperPre(const HyperSite& site, const double* h, double* u, double* post, double* mix) {
  const std::int64_t n = site.streams;
  const std::vector<double> m = project(site, n * (2 + n), h);
  reduce(site, m, h, u);
  for (std::int64_t j = 0; j < n; ++j) {
    post[j] = 2 * sigmoid(m[static_cast<std::size_t>(n + j)] * site.scale[1] + site.base[n + j]);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    double total = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t row = 2 * n + n * i + j;
      mix[i * n + j] = std::exp(m[static_cast<std::size_t>(row)] * site.scale[2] + site.base[row]);
      total += mix[i * n + j];
    }
    for (std::int64_t j = 0; j < n; ++j) mix[i * n + j] = mix[i * n + j] / total + site.hyperEps;
  }
  for (std::int64_t round = 0; round < site.sinkhornRounds; ++round) {
    if (round > 0) normaliseRows(mix, n, site.hyperEps);
    normaliseColumns(mix, n, site.hyperEps);
  }
}

void hyperPost(std::int64_t streams, std::int64_t hidden, const double* y, const double* post,
               const double* mix, double* h) {
  const std::vector<double> before(h, h + streams * hidden);
  for (std::int64_t j = 0; j < streams; ++j) {
    for (std::int64_t d = 0; d < hidden; ++d) {
      double total = post[j] * y[d];
      for (std::int64_t i = 0; i < streams; ++i) {
        total += mix[i * streams + j] * before[static_cast<std::size_t>(i * hidden + d)];
      }
      h[j * hidden + d] = total;
    }
  }
}

void hyperHead(const HyperSite& site, const double* h, double* z) {
  reduce(site, project(site, site.streams, h), h, z);
}

}  // namespace qk::reference
