# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# C functions of Ruby and of libraries that are loaded only when told to go.
require_relative "common"

def crypto = OpenSSL::PKCS5.pbkdf2_hmac("password", "salt", 100_000, 32, "SHA256")
def compress(bytes) = Zlib::Deflate.deflate(bytes, 9)
def sorting = Array.new(60_000) { |i| (i * 7_919) % 60_013 }.sort_by { |x| -x }
def counting = 1_000_000.times { |i| i }
def comparing = Array.new(200_000) { |i| (i * 7_919) % 200_003 }.max_by(2) { |x| x }
def ordering = Array.new(100_000) { |i| (i * 7_919).to_s }.sort { |a, b| a.to_i <=> b.to_i }
def walking = Array.new(400_000, 1).each { |i| i }
# Alike but for their last bit, so that it takes its time.
def big_compare(one = 1 << 4_000_000, other = one + 1) = 2_000.times { one.public_send(:<=>, other) }

ready
require "openssl"
require "zlib"
bytes = Random.new(1).bytes(2_000_000)
2.times do
  crypto
  compress(bytes)
  sorting
  counting
  comparing
  ordering
  walking
  big_compare
end
done
