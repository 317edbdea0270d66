//! Where the finest buckets begin: 2^(k/64), for k from 0 to 63.

/// The finest scale there is: 64 buckets per doubling.
pub(super) const MAX_SCALE: i8 = 6;

const PER_DOUBLING: usize = 1 << MAX_SCALE;

/// 2^(k/64) with 63 bits behind the point, rounded down. Between two whole numbers there is nothing that rounding down
/// could hide, so comparing with these is exact.
const BUCKET_STARTS: [u64; PER_DOUBLING] = [
    0x8000_0000_0000_0000,
    0x8164_d1f3_bc03_0773,
    0x82cd_8698_ac2b_a1d7,
    0x843a_28c3_acde_4046,
    0x85aa_c367_cc48_7b14,
    0x871f_6196_9e8d_1010,
    0x8898_0e80_92da_8527,
    0x8a14_d575_496e_fd9a,
    0x8b95_c1e3_ea8b_d6e6,
    0x8d1a_df5b_7e5b_a9e5,
    0x8ea4_398b_45cd_53c0,
    0x9031_dc43_1466_b1dc,
    0x91c3_d373_ab11_c336,
    0x935a_2b2f_13e6_e92b,
    0x94f4_efa8_fef7_0961,
    0x9694_2d37_2018_5a00,
    0x9837_f051_8db8_a96f,
    0x99e0_4593_20b7_fa64,
    0x9b8d_39b9_d54e_5538,
    0x9d3e_d9a7_2cff_b750,
    0x9ef5_3260_91a1_11ad,
    0xa0b0_510f_b971_4fc2,
    0xa270_4303_0c49_6818,
    0xa435_15ae_09e6_809e,
    0xa5fe_d6a9_b151_38ea,
    0xa7cd_93b4_e965_3569,
    0xa9a1_5ab4_ea7c_0ef8,
    0xab7a_39b5_a93e_d337,
    0xad58_3eea_42a1_4ac6,
    0xaf3b_78ad_690a_4374,
    0xb123_f581_d2ac_258f,
    0xb311_c412_a911_2489,
    0xb504_f333_f9de_6484,
    0xb6fd_91e3_28d1_7791,
    0xb8fb_af47_62fb_9ee9,
    0xbaff_5ab2_133e_45fb,
    0xbd08_a39f_580c_36be,
    0xbf17_99b6_7a73_1082,
    0xc12c_4cca_6670_9456,
    0xc346_ccda_2497_6407,
    0xc567_2a11_5506_dadd,
    0xc78d_74c8_abb9_b15c,
    0xc9b9_bd86_6e2f_27a2,
    0xcbec_14fe_f272_7c5c,
    0xce24_8c15_1f84_80e3,
    0xd063_33da_ef2b_2594,
    0xd2a8_1d91_f12a_e45a,
    0xd4f3_5aab_cfed_fa1f,
    0xd744_fcca_d69d_6af4,
    0xd99d_15c2_78af_d7b5,
    0xdbfb_b797_daf2_3755,
    0xde60_f482_5e0e_9123,
    0xe0cc_deec_2a94_e111,
    0xe33f_8972_be8a_5a51,
    0xe5b9_06e7_7c83_48a8,
    0xe839_6a50_3c4b_dc68,
    0xeac0_c6e7_dd24_392e,
    0xed4f_301e_d994_2b84,
    0xefe4_b99b_dcda_f5cb,
    0xf281_773c_59ff_b139,
    0xf525_7d15_2486_cc2c,
    0xf7d0_df73_0ad1_3bb8,
    0xfa83_b2db_722a_033a,
    0xfd3e_0c0c_f486_c174,
];

/// For each 256th part of a doubling, the last bucket that begins at or before its start: at most one more begins in it.
const NEAREST_BUCKET: [u8; 256] = near();

const fn near() -> [u8; 256] {
    let mut found = [0; 256];
    let mut part = 0;
    while part < 256 {
        let start = (1 << 63) | ((part as u64) << 55);
        let mut last = 0;
        while last + 1 < PER_DOUBLING && BUCKET_STARTS[last + 1] <= start {
            last += 1;
        }
        found[part] = last as u8;
        part += 1;
    }
    found
}

/// The bucket of a value above 0 at the finest scale: the one number `i` with 2^(i/64) < value <= 2^((i+1)/64).
pub(super) fn index(value: u64) -> i32 {
    let zeros = value.leading_zeros();
    let mantissa = value << zeros;
    let mut bucket = usize::from(NEAREST_BUCKET[(mantissa >> 55) as usize & 255]);
    while bucket + 1 < PER_DOUBLING && BUCKET_STARTS[bucket + 1] < mantissa {
        bucket += 1;
    }
    // A bucket holds its end and not its start, so a value that is one belongs to the bucket before.
    if BUCKET_STARTS[bucket] >= mantissa {
        return ((63 - zeros as i32) << MAX_SCALE) + bucket as i32 - 1;
    }
    ((63 - zeros as i32) << MAX_SCALE) + bucket as i32
}

/// Where a bucket of a scale begins.
pub(super) fn start(index: i32, scale: i8) -> f64 {
    (f64::from(index) * (-f64::from(scale)).exp2()).exp2()
}
