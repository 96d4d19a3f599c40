# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Orders as lines of text, read and summed up.
class Orders
  Order = Struct.new(:customer, :amount, :country)

  def initialize(lines)
    @orders = lines.map { |line| parse(line) }
  end

  def totals
    @orders.each_with_object(Hash.new(0)) { |order, sums| sums[order.country] += order.amount }
  end

  def best(count)
    by_customer = @orders.group_by(&:customer)
    sums = by_customer.transform_values { |orders| orders.sum(&:amount) }
    sums.sort_by { |customer, amount| [-amount, customer] }.first(count)
  end

  private

  def parse(line)
    customer, amount, country = line.split(";")
    Order.new(customer, cents(amount), country.strip)
  end

  def cents(text)
    whole, part = text.split(".")
    whole.to_i * 100 + part.to_i
  end
end
