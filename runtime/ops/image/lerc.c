// SPDX-License-Identifier: Apache-2.0
// Stubs for LERC, which libtiff references. LERC is C++ and rarely used: such images are not
// decoded.
unsigned lerc_getBlobInfo(const unsigned char *blob, unsigned size, unsigned *info, double *range, int infos,
                          int ranges);
unsigned lerc_decode(const unsigned char *blob, unsigned size, int masks, unsigned char *valid, int depth, int columns,
                     int rows, int bands, unsigned type, void *data);
unsigned lerc_encodeForVersion(const void *data, int version, unsigned type, int depth, int columns, int rows,
                               int bands, int masks, const unsigned char *valid, double most, unsigned char *to,
                               unsigned size, unsigned *written);

enum { FAILED = 1 };

unsigned lerc_getBlobInfo(const unsigned char *blob, unsigned size, unsigned *info, double *range, int infos,
                          int ranges) {
  (void)blob, (void)size, (void)info, (void)range, (void)infos, (void)ranges;
  return FAILED;
}
unsigned lerc_decode(const unsigned char *blob, unsigned size, int masks, unsigned char *valid, int depth, int columns,
                     int rows, int bands, unsigned type, void *data) {
  (void)blob, (void)size, (void)masks, (void)valid, (void)depth, (void)columns, (void)rows, (void)bands, (void)type;
  (void)data;
  return FAILED;
}
unsigned lerc_encodeForVersion(const void *data, int version, unsigned type, int depth, int columns, int rows,
                               int bands, int masks, const unsigned char *valid, double most, unsigned char *to,
                               unsigned size, unsigned *written) {
  (void)data, (void)version, (void)type, (void)depth, (void)columns, (void)rows, (void)bands, (void)masks, (void)valid;
  (void)most, (void)to, (void)size, (void)written;
  return FAILED;
}
