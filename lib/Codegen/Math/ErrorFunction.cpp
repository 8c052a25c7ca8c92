// SPDX-License-Identifier: Apache-2.0
//
// erf, by one of two forms.
//
// Where the machine looks numbers up in a vector, |x| is a multiple of a step and a distance d, and erf a polynomial in d whose coefficients are
// looked up (`erf_table` of fit.py). Near 0 the sum begins with d itself: a coefficient near 1.128 would be rounded to fewer
// digits than the result has.
//
// Elsewhere: x + x q(x^2) up to 0.93, and 1 - exp(-x - x p(x)) beyond.
#include "lib/Codegen/Math/VectorMath.h"

#include <iterator>

using namespace mlir;

namespace hewn::codegen::vecmath {

namespace {
/// For each power of the distance its coefficient near every multiple of the step.
struct Table {
  double step;
  SmallVector<ArrayRef<double>> powers;
  int64_t places() const { return int64_t(powers.front().size()); }
};
} // namespace

/// Each step as long as its number of places needs to get where erf is 1 as a float, and such that the multiples that matter have an erf near a float.
static constexpr double kStepOf16 = 1. / 4, kStepOf8 = 67. / 128;

static constexpr double kOf16[][16] = {
    {0, 0.276326388, 0.520499885, 0.711155653, 0.842700779, 0.92290014, 0.966105163, 0.986671686, 0.995322287,
     0.998537302, 0.999593019, 0.999899387, 0.999977887, 0.999995708, 0.999999285, 0.999999881},
    {0.128379166, 1.06001425, 0.87878263, 0.642931104, 0.415107489, 0.236521125, 0.118930288, 0.0527749956,
     0.0206669867, 0.00714231934, 0.00217828411, 0.000586277281, 0.000139253054, 2.91890265e-05, 5.39942675e-06,
     9.2943219e-07},
    {3.16978316e-07, -0.264999002, -0.439388394, -0.482204497, -0.41510123, -0.29565981, -0.178406045, -0.09236487,
     -0.0413452014, -0.0160792824, -0.00543094007, -0.0016167576, -0.000406109059, -0.0001005265, -3.29883987e-05,
     8.08847972e-07},
    {-0.376143187, -0.309197724, -0.146480635, 0.0267739836, 0.138371021, 0.167533964, 0.138752222, 0.0901578218,
     0.0482229702, 0.0217245333, 0.0083500687, 0.00276029808, 0.000789052399, 0.000195787929, 4.22881094e-05,
     1.10395576e-05},
    {0.000304413668, 0.126092896, 0.182125673, 0.150658965, 0.0688577965, -0.00529613346, -0.0436253697, -0.0474149957,
     -0.033724606, -0.0185530204, -0.00960348267, -0.00299862027, -0.00179544452, 6.87250431e-05, 0.000825484865,
     -0.000232597056},
    {0.110902071, 0.0811357573, 0.00834890269, -0.0520824082, -0.0690563023, -0.0470042564, -0.0149392476,
     0.00650401274, 0.0130324988, 0.010647797, 0.00612724246, 0.00277132774, 0.00102555403, 0.000317781785,
     8.34797902e-05, 1.87517198e-05}};

static constexpr double kOf8[][8] = {
    {0, 0.540853143, 0.861261427, 0.973632574, 0.996933699, 0.999785483, 0.999991059, 0.999999762},
    {0.128379166, 0.857954144, 0.377130121, 0.0958377048, 0.0140799033, 0.00119586184, 5.87192371e-05, 1.68978067e-06},
    {2.41326802e-07, -0.449083239, -0.394808799, -0.150490731, -0.029485425, -0.00313307974, -0.000182367992,
     -7.47535125e-07},
    {-0.376136422, -0.129266664, 0.149831727, 0.125603944, 0.0364554785, 0.00506220339, 0.000366547785, 1.46983775e-05},
    {0.000152752415, 0.183415785, 0.0532169752, -0.0486192256, -0.0281252284, -0.00545445969, -0.000592815049,
     -0.000225780823},
    {0.111805886, 0.000166421029, -0.067169778, -0.00726650003, 0.0128010139, 0.00432516122, 0.000535755651,
     3.12253542e-05},
    {0.00304539362, -0.0471335538, 0.00843081903, 0.0182037428, -0.00330871111, -0.00350393541, 0.000327769871,
     0.00191747537},
    {-0.0296600033, 0.00872049201, 0.0127117895, -0.00542106666, -0.00229061069, 0.000654788048, 0.000256274012,
     2.69382672e-05}};

static Num erfByTable(Num x, const Table &table) {
  constexpr double round = 0x1.8p23; // to a whole number, which is left in the low bits
  Num a = atMost(abs(x), (double(table.places()) - 0.50001) * table.step);
  Num sum = fma(a, 1 / table.step, round), d = fma(sum - round, -table.step, a), place = toBits(sum);
  Num p = lookUp(place, table.powers.back());
  for (size_t power = table.powers.size() - 1; power-- > 1;)
    p = fma(p, d, lookUp(place, table.powers[power]));
  Num start = lookUp(place, table.powers.front());
  start = select(d > start, d, start); // 0 and d, or a number that is above any d
  return copysign(fma(p, d, start), x);
}

static Num erfByExponential(Num x) {
  Num a = abs(x), s = x * x;
  Num q = polynomial(s, {0.12837915122509003, -0.37612491846084595, 0.1128176674246788, -0.026764316484332085,
                         0.0049893660470843315, -0.0005969914491288364});
  Num small = fma(a, q, a);
  Num t = atMost(a, 4);
  Num p = polynomial(t, {-0.1285122036933899, -0.6357255578041077, -0.10525237023830414, 0.022883934900164604,
                         -0.00321308895945549, 0.00021376009681262076});
  Num large = 1.0 - exp(fma(t, p, -t), {-20, 0});
  return copysign(select(a <= 475.0 / 512, small, large), x);
}

Num erf(Num x) {
  if (looksUp(x, std::size(kOf16[0])))
    return erfByTable(x, {kStepOf16, {std::begin(kOf16), std::end(kOf16)}});
  if (looksUp(x, std::size(kOf8[0])))
    return erfByTable(x, {kStepOf8, {std::begin(kOf8), std::end(kOf8)}});
  return erfByExponential(x);
}

} // namespace hewn::codegen::vecmath
